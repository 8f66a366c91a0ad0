package campaign

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"adnet/internal/campaign/subject"
	"adnet/internal/compliance/adtext"
)

// The rules about restricted trades.
const (
	ruleTrade      = "restricted_trade" // a trade is declared
	ruleUndeclared = "trade_undeclared" // a trade is found but not declared
)

// claim is a restricted trade found in a text of a campaign that does not declare it.
type claim struct {
	trade subject.Trade
	in    part
	says  string // the phrase
}

// undeclared returns the claims in c's texts, its landing link and its targeting words, in the
// order of the trades.
func (c *Campaign) undeclared() (claims []claim) {
	declared, _ := subject.TradesOf(c.Trades)
	for _, in := range append(c.parts(Text), c.statedWords()...) {
		for trade, says := range offers(in.value) {
			if !declared.Has(trade) {
				claims = append(claims, claim{trade, in, says})
			}
		}
	}
	for trade, says := range offersOfLink(c.CTAURL) {
		if !declared.Has(trade) {
			claims = append(claims, claim{trade, part{"cta_url", c.CTAURL}, says})
		}
	}
	slices.SortStableFunc(claims, func(a, b claim) int { return int(a.trade) - int(b.trade) })
	return claims
}

// statedWords returns the words and phrases that c targets, each as a separate text.
func (c *Campaign) statedWords() (words []part) {
	for _, token := range c.IntentTokens {
		words = append(words, part{"target_intent_tokens", token})
	}
	for _, word := range c.Keywords {
		words = append(words, part{"target_keywords", word})
	}
	return words
}

// ofTrades returns the findings about c's trades. A person reviews every campaign of a declared
// trade. The owner must know the law on its goods, so an undeclared trade is reported only once.
func ofTrades(c *Campaign, found []Violation) []Violation {
	if len(c.Trades) > 0 {
		found = append(
			found,
			Violation{
				Rule: ruleTrade, Field: "trades",
				Message: "a restricted trade waits for a reviewer: " + strings.Join(c.Trades, ", "),
			},
		)
	}
	last := subject.NoTrade
	for _, claim := range c.undeclared() {
		if claim.trade != last {
			found = append(found, Violation{Rule: ruleUndeclared, Field: claim.in.field, Message: fmt.Sprintf(
				"%q belongs to a restricted trade: declare %q in trades, or wait for a reviewer", claim.says,
				claim.trade.Of().Name)})
		}
		last = claim.trade
	}
	return found
}

// offers returns the trades that a text claims or offers, each with the first phrase found. A mere
// topic is not an offer: a text about wine may sell books.
func offers(text string) map[subject.Trade]string {
	found := make(map[subject.Trade]string)
	words := wordsOf(text)
	joined := strings.Join(words, "")
	for i := range words {
		for _, p := range offerPhrases().beginning(words[i]) {
			if _, known := found[p.trade]; !known && p.matches(words[i:]) {
				found[p.trade] = p.text
			}
		}
	}
	for _, p := range offerPhrases().joined {
		if _, known := found[p.trade]; !known && strings.Contains(joined, p.words[0]) {
			found[p.trade] = p.text
		}
	}
	return found
}

// shortestJoined is the minimum length of a phrase that is also searched in hosts, where words have
// no spaces between them.
const shortestJoined = 8

// offersOfLink returns the offers in the words of a link, and in its host even if words are joined.
func offersOfLink(link string) map[subject.Trade]string {
	found := offers(adtext.LinkText(link))
	host := strings.Join(wordsOf(adtext.Host(link)), " ")
	for _, p := range offerPhrases().plain {
		word := strings.ReplaceAll(strings.Join(p.words, ""), "*", "")
		if _, known := found[p.trade]; !known && len(word) >= shortestJoined && strings.Contains(host, word) {
			found[p.trade] = p.text
		}
	}
	return found
}

// wordsOf returns the words of s in lower case, with look-alikes replaced.
func wordsOf(s string) []string {
	return strings.FieldsFunc(
		strings.ToLower(adtext.Plain(s)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) },
	)
}

// phrase is a typical phrase of an offer in a restricted trade: consecutive words. A word that ends
// in * matches as a prefix, and # matches a number. In scripts without spaces it is one word, found
// anywhere.
type phrase struct {
	trade subject.Trade
	text  string
	words []string
}

func (p *phrase) matches(words []string) bool {
	if len(words) < len(p.words) {
		return false
	}
	for i, want := range p.words {
		stem, open := strings.CutSuffix(want, "*")
		switch {
		case want == "#" && strings.ContainsFunc(words[i], func(r rune) bool { return !unicode.IsNumber(r) }):
			return false
		case want != "#" && words[i] != stem && !(open && strings.HasPrefix(words[i], stem)):
			return false
		}
	}
	return true
}

// phrasesOf groups all phrases by search method.
type phrasesOf struct {
	first  map[string][]phrase // by first word; "#" has phrases that begin with a number
	open   []phrase            // phrases whose first word is a prefix
	joined []phrase            // of scripts without spaces
	plain  []phrase            // without numbers
}

// beginning returns the phrases that may begin with word.
func (all *phrasesOf) beginning(word string) []phrase {
	list := all.first[word]
	if r, _ := utf8.DecodeRuneInString(word); unicode.IsNumber(r) {
		list = append(slices.Clip(list), all.first["#"]...)
	}
	if len(all.open) > 0 {
		list = append(slices.Clip(list), all.open...)
	}
	return list
}

// offerPhrases has the phrases of offered, prepared for searching.
var offerPhrases = sync.OnceValue(func() *phrasesOf {
	all := &phrasesOf{first: make(map[string][]phrase)}
	for trade, texts := range offered {
		for text := range strings.SplitSeq(texts, ",") {
			all.add(trade, strings.TrimSpace(text))
		}
	}
	return all
})

func (all *phrasesOf) add(trade subject.Trade, text string) {
	p := phrase{trade: trade, text: text}
	if strings.ContainsFunc(text, unspaced) {
		p.words = []string{strings.Join(wordsOf(text), "")}
		all.joined = append(all.joined, p)
		return
	}
	for word := range strings.FieldsSeq(text) {
		stem, open := strings.CutSuffix(word, "*")
		if stem != "#" {
			stem = strings.Join(wordsOf(stem), "")
		}
		if open {
			stem += "*"
		}
		p.words = append(p.words, stem)
	}
	if !strings.Contains(text, "#") {
		all.plain = append(all.plain, p)
	}
	if strings.HasSuffix(p.words[0], "*") {
		all.open = append(all.open, p)
		return
	}
	all.first[p.words[0]] = append(all.first[p.words[0]], p)
}

// unspaced reports whether r belongs to a script that does not always put spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// offered lists typical phrases of offers in each trade, in English, German, French, Spanish,
// Portuguese, Japanese, Korean and Chinese.
var offered = map[subject.Trade]string{
	subject.TradeAlcohol: `wine delivered, wines delivered, wine delivery, beer delivered, beer delivery,
	beers delivered, cocktails delivered, alcohol delivery, buy wine, buy wines, order wine,
		buy beer, buy whisky, buy whiskey, buy vodka, buy gin, buy rum, order beer, wine club, whisky club,
		wine subscription, beer subscription, craft beer box, liquor store*, case of wine, cases of wine, wine shop,
		wein bestellen, wein kaufen, weine kaufen, weine bestellen, weinversand, weinpaket*, weinclub,
		bier bestellen, bier kaufen, whisky kaufen, gin kaufen, spirituosen kaufen,
		acheter du vin, achetez du vin, commander du vin, vin livré, vins livrés, livraison de vin,
		livraison de vins, vente de vin, coffret de vin, coffret vin, bière livrée, livraison de bière,
		acheter du whisky,
		comprar vino, compra vino, vino a domicilio, vinos a domicilio, cerveza a domicilio, comprar cerveza,
		comprar whisky, club de vinos, tienda de vinos, licores a domicilio,
		comprar vinho, compre vinho, vinho em casa, vinhos em casa, clube de vinhos, loja de vinhos, cerveja em casa,
		comprar cerveja, entrega de bebidas,
		ワイン通販, 日本酒通販, ビール通販, 焼酎通販, ウイスキー通販, ワインをお届け, 日本酒をお届け, ビールをお届け, 와인 배송, 와인 배달, 와인 구독, 맥주 배달, 주류 배달, 전통주 배송,
		白酒直销, 红酒直销, 紅酒直銷, 买红酒, 买白酒, 買紅酒, 葡萄酒配送, 订购葡萄酒`,
	subject.TradeGambling: `online casino*, live casino*, casino bonus*, sports betting, sportsbook*, place a bet,
	place your bet*, bet now, free bets, free spins, real money slots, play for real money, win real money,
		online poker, online lottery, lottery tickets, online bingo, betting bonus, casino games for money,
		online casino*, onlinecasino*, sportwette*, jetzt wetten, wetten platzieren, freispiele, um echtes geld,
		lotto online, lottoschein*,
		casino en ligne, casinos en ligne, paris sportifs, pari sportif, pariez, tours gratuits, poker en ligne,
		loterie en ligne,
		casino en línea, apuestas deportivas, apuesta ahora, giros gratis, tiradas gratis, póker online,
		lotería online, apuestas online,
		cassino online, apostas esportivas, apostas desportivas, aposte agora, rodadas grátis, loteria online,
		apostas online,
		オンラインカジノ, ネットカジノ, スポーツベット, スポーツベッティング, 온라인 카지노, 스포츠 베팅, 스포츠 토토,
		在线赌场, 線上賭場, 线上赌场, 網上賭場, 网上赌场, 体育投注, 體育投注, 体育博彩, 在线博彩, 真人荷官`,
	subject.TradeDating: `meet singles, meet local singles, singles near you, singles in your area, local singles,
	dating app*, dating site*, online dating, find love online,
		singles treffen, singles kennenlernen, singles in deiner nähe, singles in ihrer nähe, partnersuche,
		partnervermittlung, singlebörse*,
		rencontrer des célibataires, rencontrez des célibataires, site de rencontre*, sites de rencontre*,
		appli de rencontre*, application de rencontre*, célibataires près de,
		conoce solteros, conocer solteros, solteros cerca, app de citas, aplicación de citas, sitio de citas,
		citas online, citas en línea,
		conheça solteiros, conhecer solteiros, solteiros perto, app de namoro, aplicativo de namoro, site de namoro,
		site de relacionamento*,
		マッチングアプリ, 婚活アプリ, 恋活アプリ, 出会い系, 소개팅 앱, 소개팅 어플, 데이팅 앱, 交友软件, 交友軟體, 约会软件, 約會軟體, 相亲网站, 单身交友`,
	subject.TradeHealth: `miracle cure*, clinically proven, online pharmacy, buy antibiotics, buy medicine*,
	without a prescription, without prescription, no prescription needed, no prescription required,
	prescriptions online,
		boost* your immune system, boost* immunity, lower* your blood pressure, lowers blood pressure, pain relief,
		cures cancer, cure cancer, cures diabetes, reverse* diabetes, cure* anxiety, cure* depression, cbd oil,
		hair loss treatment*,
		erectile dysfunction, testosterone booster*, detox* your body, heals your, relieves pain,
		onlineapotheke*, online apotheke*, versandapotheke*, medikamente bestellen, medikamente kaufen,
		medikamente ohne rezept, rezeptfreie medikamente, stärkt das immunsystem, stärkt ihr immunsystem,
		senkt den blutdruck, lindert schmerzen, klinisch getestet, wundermittel,
		sans ordonnance, pharmacie en ligne, acheter des médicaments, renforce votre immunité, renforce l immunité,
		soulage la douleur, soulage les douleurs, cliniquement prouvé*, remède miracle,
		farmacia online, farmacia en línea, comprar medicamentos, medicamentos sin receta, sin receta médica,
		refuerza tus defensas, cura milagrosa, alivia el dolor, clínicamente probado*,
		farmácia online, comprar remédios, medicamentos sem receita, remédios sem receita, sem receita médica,
		reforça a imunidade, alivia a dor, clinicamente comprovado*,
		免疫力を高め, 血圧を下げ, 医薬品通販, 処方箋なし, 育毛剤, 면역력 강화, 혈압을 낮, 처방전 없이, 통증 완화, 의약품 구매, 增强免疫力, 增強免疫力, 降血压, 降血壓, 网上药店, 无需处方,
		無需處方, 包治百病`,
	subject.TradeWeightLoss: `lose # kg, lose # kilos, lose # pounds, lose # lbs, lose weight fast,
	lose weight without, lose weight in, lose weight now, drop # pounds, drop # dress sizes, weight loss pill*,
	weight loss program*, weight loss plan*,
		weight loss injection*, fat burner*, burn belly fat, burn fat fast, melt fat, slimming tea*, slimming pill*,
		appetite suppressant*, lose belly fat,
		# kg abnehmen, # kilo abnehmen, # kilos abnehmen, schnell abnehmen, abnehmen ohne, abnehmen in, abnehmpille*,
		abnehmspritze*, fettburner, fettverbrenner, schlankheitspille*, diätpille*,
		perdre # kg, perdez # kg, perdre # kilos, perdez # kilos, maigrir vite, maigrir sans, perte de poids rapide,
		brûleur de graisse*, coupe faim, pilules minceur,
		pierde # kilos, perder # kilos, pierde # kg, perder # kg, bajar # kilos, baja # kilos, adelgazar rápido,
		adelgaza rápido, adelgazar sin, quemador de grasa, quemagrasas, pastillas para adelgazar,
		perca # quilos, perder # quilos, perca # kg, emagrecer rápido, emagreça rápido, emagrecer sem, emagreça sem,
		queimador de gordura, pílulas para emagrecer,
		キロ痩せ, kg痩せ, キロ減量, ダイエットサプリ, 脂肪燃焼, 簡単に痩せ, kg 감량, 킬로 감량, 다이어트 약, 다이어트 보조제, 지방 연소, 减肥药, 減肥藥, 快速减肥, 快速減肥, 减肥茶,
		燃脂, 瘦身茶`,
	subject.TradeCredit: `instant loan*, payday loan*, personal loan*, cash loan*, quick loan*, bad credit loan*,
	no credit check, without credit check, apply for a loan, get a loan, loans approved, loan approved, cash advance*,
		0 apr, low apr, buy now pay later, get a mortgage, debt consolidation, refinance your,
		apply for a credit card, borrow up to,
		sofortkredit*, kredit ohne schufa, minikredit*, ratenkredit*, privatkredit*, kredit beantragen,
		kredit aufnehmen, kredit in # minuten, günstige kredite, günstiger kredit,
		crédit rapide, prêt rapide, prêt immédiat, crédit immédiat, crédit sans justificatif, prêt personnel,
		prêts personnels, demande de crédit, rachat de crédit*, mini crédit*, crédit conso*,
		préstamo rápido, préstamos rápidos, préstamo inmediato, préstamo personal, préstamos personales,
		préstamos online, crédito rápido, créditos rápidos, crédito al instante, minicrédito*, solicita tu préstamo,
		empréstimo rápido, empréstimo pessoal, empréstimo online, empréstimo consignado, empréstimo na hora,
		crédito na hora, crédito pessoal, peça seu empréstimo,
		即日融資, カードローン, キャッシング, 消費者金融, 즉시 대출, 당일 대출, 소액 대출, 무직자 대출, 신용 대출, 快速贷款, 快速貸款, 无抵押贷款, 無抵押貸款, 小额贷款, 小額貸款, 现金贷,
		信用贷`,
	subject.TradeCrypto: `buy bitcoin*, buy crypto*, buy ethereum, trade crypto*, trade bitcoin*, crypto trading,
	bitcoin trading, crypto exchange*, bitcoin exchange*, earn crypto*, stake your crypto, crypto staking,
	crypto signals, token presale*, nft drop*,
		invest in crypto*, invest in bitcoin*, buy and sell crypto*,
		bitcoin kaufen, bitcoins kaufen, krypto kaufen, kryptowährungen kaufen, kryptobörse*, krypto handeln,
		in bitcoin investieren, in krypto investieren,
		acheter du bitcoin, achetez du bitcoin, acheter des bitcoins, acheter des cryptos, trading crypto,
		plateforme crypto, investir dans le bitcoin, investir dans la crypto*,
		comprar bitcoin*, compra bitcoin*, comprar cripto*, compra cripto*, invierte en cripto*, invertir en bitcoin,
		invertir en cripto*, trading de cripto*, exchange de cripto*,
		compre bitcoin*, compre cripto*, invista em cripto*, investir em bitcoin, investir em cripto*,
		corretora de cripto*,
		ビットコインを買, ビットコイン購入, 仮想通貨取引, 仮想通貨を買, 暗号資産取引, 비트코인 구매, 비트코인 투자, 코인 거래소, 가상화폐 거래, 암호화폐 거래, 买比特币, 買比特幣, 购买比特币,
		加密货币交易, 加密貨幣交易, 虚拟货币交易, 炒币`,
	subject.TradeWeapons: `hunting rifle*, air rifle*, assault rifle*, buy guns, buy a gun, buy firearms, buy ammo,
	gun shop*, gun store*, ammo shop, handguns, firearms for sale, pistols for sale, tactical knife, tactical knives,
	pepper spray, stun gun*, rifle scope*,
		jagdgewehr*, jagdwaffe*, luftgewehr*, waffen kaufen, waffe kaufen, waffenladen, waffengeschäft*,
		munition kaufen, schreckschusspistole*, pfefferspray*,
		fusil de chasse, fusils de chasse, armurerie, acheter une arme, acheter des armes, munitions de chasse,
		bombe lacrymogène,
		rifle de caza, rifles de caza, escopeta de caza, escopetas de caza, armería, comprar armas, comprar un arma,
		gas pimienta,
		rifle de caça, rifles de caça, espingarda de caça, espingardas de caça, comprar arma, loja de armas,
		spray de pimenta,
		猟銃, 狩猟用ライフル, エアガン販売, 催涙スプレー, 사냥총, 총기 판매, 호신용 스프레이, 전기충격기, 猎枪, 獵槍, 枪支弹药, 防狼喷雾, 電擊棒`,
	subject.TradeTobacco: `vape shop*, vape juice*, vape pen*, buy vapes, disposable vape*, e cigarette*,
	nicotine pouch*, buy cigars, cigars online, cigar club, tobacco shop*, pipe tobacco, heated tobacco,
	buy cigarettes, cigarettes online, hookah tobacco,
		e zigarette*, einweg vape*, liquids kaufen, zigarren kaufen, zigaretten kaufen, tabak kaufen, nikotinbeutel,
		shisha tabak,
		cigarette électronique, cigarettes électroniques, e liquide*, boutique de vape, acheter des cigares,
		puff jetable*, puffs jetables, sachets de nicotine,
		cigarrillo electrónico, cigarrillos electrónicos, tienda de vapeo, comprar puros, comprar tabaco,
		bolsas de nicotina, vapers desechables,
		cigarro eletrônico, cigarros eletrônicos, cigarro eletrónico, loja de vape, comprar charutos, vape descartável,
		電子タバコ, 加熱式タバコ, 葉巻通販, 전자담배, 액상 담배, 电子烟, 電子煙, 加热烟, 买雪茄`,
	subject.TradePolitics: `vote for, vote yes on, vote no on, re elect, your vote for, paid for by the committee,
	support our candidate, for congress, for senate, for mayor, for governor,
		am sonntag wählen, wählen sie am, ihre stimme für, deine stimme für, stimmen sie für, für den bundestag,
		bürgermeisterkandidat*,
		votez, voter pour, notre candidat aux, notre candidate aux, vota por, vote por, votar por, tu voto por,
		vota a, candidato a la alcaldía, candidata a la alcaldía,
		vote em, votar em, seu voto em, candidato a prefeito, candidata a prefeita, para deputado, para deputada,
		に投票, 清き一票, 公認候補, 투표해 주세요, 후보에게 투표, 소중한 한 표, 投票给, 投票給, 投我一票, 支持候选人`,
}
