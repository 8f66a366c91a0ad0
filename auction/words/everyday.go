package words

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Everyday reports whether a term says little about what a text is about in some language: a word of
// grammar, or one of questions and offers of any kind. It holds for terms of content words too, such
// as "für" and "buy". Words that name a trade in another language ("hat", "van") are not among them.
func Everyday(term string) bool {
	if r, size := utf8.DecodeRuneInString(term); size == len(term) && r >= 0x3041 && r <= 0x30FF {
		return true // a single kana
	}
	return everyday()[term]
}

// everyday holds the terms of everydayWords.
var everyday = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(everydayWords) {
		set[stem(word)] = true
	}
	return set
})

// everydayWords are by language: English, German, Dutch, Danish, Norwegian, Swedish, French, Spanish,
// Portuguese, Italian, Romanian, Polish, Czech, Croatian and Serbian, Turkish, Indonesian, Finnish,
// Hungarian, Russian, Ukrainian, Greek, Arabic, Hindi, Vietnamese, and the groups of letters of
// Japanese, Chinese, Korean and Thai.
const everydayWords = `
	buy buying bought purchase sell selling sale sales order cheap cheapest price prices priced pricing compare deal
	deals online quality product products shop store company today save saving life meaning

	der die das den dem des ein eine einen einem einer eines und oder aber auch als am an auf aus bei bin bis bist da
	damit dann dass dein deine dich dir doch du durch er es euch euer für gibt habe haben ich ihr ihre im in ist ja
	jede jeder kann kein keine können man mehr mein meine mich mir mit nach nicht noch nur ob ohne sehr sein seine
	sich sie sind so soll über um uns unser unsere unter vom von vor war warum was weil welche welcher welches wenn
	wer werden wie wir wird wo wurde zu zum zur möchte brauche suche finde finden gute guten gutes beste besten
	empfehle empfiehl kaufen kauf preis preise günstig bestellen bedeutung leben lebens neu neue nummer

	de het een en of maar ook als aan op uit bij ben bent dan dat deze die dit door er geen haar hebben heb heeft hem
	hij hoe hun ik is je jij jouw kan kunnen maar me meer mij mijn moet naar niet nog nu om onder ons onze over te
	toch tot uw voor waar waarom wat we welke werd wie wij worden zal ze zijn zo zoek kopen prijs beste goede

	af alle at blev da den det denne der deres dig din du efter eller en er et for fra ham han hans har havde hun hvad
	hvem hvor hvordan i ikke ind jeg jer kan man med meget men mig min mod når nogle nu og om op os på sig sin skal
	som til ud under var ved vi vil være köpa købe kjøpe ble blir både denne dere dette eg ein hva hvilken ikkje jeg
	noe noen seg skulle vår vært att av blev bli dem detta ditt där efter ej ett från för hade hon honom hur här inte
	jag kommer kunde mellan mitt mycket mot när någon något och också sedan sig ska så till utan vad vara varför vem
	vilken vill är över pris pris bästa bedste beste god bra

	le la les un une des du de et ou mais donc car ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos
	leur leurs je tu il elle on nous vous ils elles me te se lui y en dans sur sous avec sans pour par chez vers que
	qui quoi dont où quel quelle quels quelles est sont suis es sommes êtes été être avoir ai as avons avez ont fait
	faire peut peux pouvez plus moins très bien aussi ne pas comment pourquoi quand si au aux cherche trouver acheter
	prix pas cher meilleur meilleure bon bonne sens vie

	el la los las lo un una unos unas y o pero de del al a ante con contra desde en entre hacia hasta para por según
	sin sobre que quien cual cuál cuáles qué quién dónde donde cuándo cuando cómo como porque si no sí yo tú él ella
	nosotros ellos ellas me te se le les nos mi mis tu tus su sus este esta estos estas ese esa eso es son ser soy
	está están hay he ha han tiene tengo puedo puede quiero necesito busco más menos muy también mejor mejores buena
	bueno comprar precio precios barato vida sentido significado

	o os as um uma uns umas e ou mas do da dos das no na nos nas ao aos pelo pela para por com sem sob sobre entre até
	que quem qual quais onde quando como porque se não sim eu tu ele ela nós vocês eles elas você me te lhe meu minha
	meus minhas seu sua seus suas este esta isso isto é são ser está estão tem tenho há foi posso pode quero preciso
	procuro mais menos muito também melhor melhores bom boa preço vida sentido significado

	il lo la i gli le un uno una e o ma di del dello della dei degli delle a al allo alla ai agli alle da dal dalla in
	nel nella nei con su sul sulla per tra fra che chi cui quale quali dove quando come perché se non sì io tu lui lei
	noi voi loro mi ti ci vi si mio mia miei tuo tua suo sua nostro questo questa questi queste quello è sono sei
	siamo essere ho hai ha abbiamo hanno posso può vorrei voglio cerco più meno molto anche migliore migliori buono
	buona comprare prezzo prezzi senso vita significato cosa

	și sau dar de la pe cu din în pentru care ce cine unde când cum nu da eu tu el ea noi voi ei este sunt am ai are
	o un unei mai foarte cel cea cumpăr

	i w we z ze na do od po przy dla o u za pod nad przez bez że co kto gdzie kiedy jak dlaczego czy nie tak ja ty on
	ona ono my wy oni mój moja moje twój jego jej ich ten ta to te jest są być mam ma mogę może chcę szukam się ale
	lub oraz jaki jaka jakie który która które bardzo najlepszy najlepsze kupić cena ceny sens życia życie

	a v ve s se na do od po pro při o u za pod nad přes bez že co kdo kde kdy jak proč zda ne já ty on ona my vy
	oni můj moje ten ta to je jsou být mám má mohu může chci hledám ale nebo který která které velmi nejlepší koupit
	cena smysl života

	i u na od do za s sa iz kod o po pri bez da što šta ko tko gdje gde kada kako zašto li ne ja ti on ona mi vi oni
	moj moja moje taj ta to je su sam biti imam ima mogu može želim tražim ali ili koji koja koje vrlo najbolji kupiti
	cijena cena

	ve veya ama ile için bir bu şu o ben sen biz siz onlar ne kim nerede nasıl neden mi mı mu mü de da ki var yok gibi
	daha çok en değil olan olarak ise her hangi benim senin bana sana istiyorum satın al fiyat hayatın anlamı nedir

	yang dan atau tetapi di ke dari pada untuk dengan tanpa ini itu saya aku kamu anda dia kami kita mereka apa siapa
	mana dimana bagaimana mengapa kapan adalah ada tidak bukan sudah akan bisa dapat ingin mau lebih sangat juga beli
	harga murah terbaik

	ja tai mutta että on ovat ei en minä sinä hän me te he se tämä mikä mitä missä miten miksi kuka jos myös hyvä
	paras ostaa hinta

	a az egy és vagy de hogy nem igen én te ő mi ti ők ez van vannak volt mit hol hogyan miért ki mikor ha is nagyon
	legjobb venni ár

	и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня
	еще нет о из ему когда даже ну ли если уже или ни быть был него до вас для мы их чем была без чего это этот эта
	эти где куда кто какой какая какие мой моя можно нужно нужен хочу ищу есть купить цена лучший лучшие смысл жизни
	і та й що як це для від до за на не або але чи де хто коли чому мені я ти ми ви вони є бути можна купити ціна

	και ή να το τα ο η οι του της των τον την στο στη στην στα με σε από για που τι ποιος πού πως πώς είναι δεν θα μου
	σου μας σας αυτό ένα μια

	في من على إلى الى ان او انا انت اين اي عن مع هل ما ماذا من أين كيف متى لماذا هذا هذه ذلك هو هي هم أنا أنت نحن كان يكون لا نعم أو و ثم أن إن
	التي الذي كل بعض أي لي لك أريد شراء سعر معنى الحياة

	का की के को में से पर और या है हैं था थी हो यह वह मैं तुम आप हम क्या कौन कहाँ कब कैसे क्यों नहीं हाँ लिए एक ने तो भी
	मुझे मेरा मेरी चाहिए कर सकते

	và hoặc là của cho với trong ngoài trên dưới từ đến không có một các những này đó tôi bạn anh chị em gì ai đâu nào
	khi sao tại như được đã sẽ muốn cần mua giá

	です ます まし した して する から まで この その あの どこ なに なん だれ いつ くだ ださ さい ある いる れる られ には では とは
	のは ので のに った って たい ない ませ せん しょ ょう えて てく 何で 何を です すか ため めの どう よう うな こと もの とき
	すす すめ おす ほし しい いで でき きる 何 買 買え 買う 教え 最高 意味 人生
	的 是 我 你 他 她 們 们 在 有 不 了 嗎 吗 呢 吧 和 与 或 这 那 個 个 一 什 么 什么 怎 怎么 哪 哪里 里 可 以 可以 想 请 為 为 何 能
	会 要 到 从 對 对 就 也 都 很 最 更 给 把 被 让 上 下 买 購 购 价 意義 意义 人生
	어디 어디서 어떤 무엇 뭐 누구 언제 어떻 어떻게 왜 추천 해줘 하는 있는 에서 으로 까지 부터 니다 습니 습니다 입니 입니다 세요 주세 주세요
	해요 나요 인가 인가요 그리 그리고 그 이 저 수 것 의미 인생
	ที่ และ การ ของ คือ อะไร ไหน ไม่ เป็น ได้ ใน มี จะ ให้ ฉัน คุณ เรา ซื้อ ราคา
`
