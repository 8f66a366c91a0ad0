package adtext

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fewestWords is the minimum length of a text in words for the check that some are common in its
// language. Shorter texts are names and slogans.
const (
	fewestWords = 4
	mostOthers  = 8 // uncommon words per common one
)

// strange reports whether too few of s's Latin or Cyrillic words are common in one of [Languages]:
// an instruction in Swahili needs no letter beyond the English ones. An honest text of rare words
// is found as well and waits for a review.
func strange(s string) bool {
	known, others := 0, 0
	for _, word := range words(norm.NFC.String(s)) {
		letters := utf8.RuneCountInString(word)
		acronym := letters < 5 && strings.ToUpper(word) == word
		if letters < 2 || acronym || strings.ContainsFunc(word, unicode.IsNumber) ||
			strings.ContainsFunc(word, otherAlphabet) {
			continue
		}
		if _, is := commonWords()[strings.ToLower(word)]; is {
			known++
		} else {
			others++
		}
	}
	return others >= fewestWords && mostOthers*known < others
}

func otherAlphabet(r rune) bool { return !unicode.In(r, unicode.Latin, unicode.Cyrillic) }

// commonWords is common as a set.
var commonWords = sync.OnceValue(func() map[string]struct{} {
	all := make(map[string]struct{})
	for _, text := range common {
		for _, word := range strings.Fields(text) {
			all[word] = struct{}{}
		}
	}
	return all
})

// common lists words that occur in most texts of a language, and some typical of ads. It omits
// words that are as common in an unsupported language: de, la, na, ya.
var common = map[string]string{
	"de": `der die das und für fuer mit von dem den des ein eine einen einem einer eines nicht ist sind
		auf aus bei nach zum zur vom durch ohne über unter zwischen auch oder aber wie was wer wann
		wo dein deine deinen deinem deiner ihr ihre ihren ihrem ihrer wir sie uns unser unsere euch
		mehr als nur noch schon jetzt neu neue neuen neuer neues alle alles jede jeden jeder jedes
		kein keine hier heute besser schnell schneller einfach kostenlos im zu am du bis sich macht
		wird haben kann klein kleine gut gute guten zwei drei vier fünf sechs acht zehn zwölf
		zwanzig dreißig hundert tausend tag tage tagen woche wochen monat jahr jahre minuten stunde
		stunden morgen abend weniger viel viele lernen kaufen finden planen bekommen machen ganz
		ganze gleich sofort endlich direkt erste ersten nächste selbst damit dafür dazu weil wenn
		dann sein seine mein meine echt echte günstig sicher finde teste buche bestelle angebot
		preis preise`,
	"en": `the and for you your with from that this are our all more one can not without into out how
		what when why get new now free best every any has have will its their them they than only
		just over under off also who where which been was were had but too very about after before
		between while each most less better faster easy fast first next make like need want find
		keep save start try use buy work build send run learn see know stay let help turn take of to
		in is it we my by or be up us small big good great people minutes minute hours hour days day
		weeks week months month years year morning mornings evening night home prices price bills
		bill two three four five six seven eight ten twelve twenty thirty forty fifty hundred
		thousand half times answer answers cook eat sleep read write play open tell ask call go come
		does did should would could many much some such same own both few long short high low well
		even still again always never simple quick real right ready today tomorrow yours mine server
		servers system systems based supporting support supports database databases cloud search
		manager management manage tool tools knowledge service services generates calendar calendars
		docs data web chat official platform software memory file files project projects user users
		customer customers business company website websites page pages security access network
		design image images language languages model models agent agents assistant assistants
		library framework developers developer team teams protocol interface workflow workflows
		automation analytics provides using enables allows query queries create convert`,
	"es": `los las una unos unas del para por con sin sobre más mas entre desde hasta que cual como
		cuando donde pero muy todo toda todos todas cada sus nuestro nuestra nuestros tus mis este
		esta estos estas ese esa hay ser está son fácil rápido nuevo nueva gratis mejor menos el un
		en tu su al lo dos tres cuatro cinco diez veinte cien día dias días semana mes hora horas
		minutos pequeño buena bueno hacer encuentra compra aprende tiene puede nunca siempre hoy
		mañana después antes simple sólo solo tienes qué cómo prueba reserva oferta precio precios`,
	"fr": `les des une dans pour avec sans sur sous par plus vos votre notre nos leur leurs vous nous
		ses son mes mon est sont que qui quoi dont mais ou où et très tout toute tous toutes bien
		chaque chez entre vers dès aussi pas ne le du au aux tu il un en ce cette ces comme quand
		facile rapide nouveau nouvelle gratuit gratuite meilleur meilleure moins depuis deux trois
		quatre cinq six dix vingt cent jour jours semaine mois heure heures minutes petit petite
		petits bon bonne faire trouver acheter apprendre avez êtes ont peut jamais toujours aujourd
		demain enfin après avant simple rapidement elle ils elles quel quelle trouvez réservez
		réserve essayez achetez prix offre`,
	"it": `il gli una uno dei delle degli della dello del dal dalla nel nella sul sulla con per senza
		più tra fra che chi come quando dove anche ogni tutto tutta tutti tutte tuo tua tuoi tue suo
		sua nostro nostra vostro questa questo sono non facile veloce nuovo nuova gratis migliore
		meno un al alla ai alle di due tre quattro cinque dieci venti cento giorno giorni settimana
		mese ora ore minuti piccolo buona buono fare trova compra impara puoi può mai sempre oggi
		domani dopo prima semplice solo ancora già prova prenota offerta prezzo prezzi`,
	"nl": `het een van voor met zonder naar bij uit over onder tussen door ook maar niet meer dan als
		wat wie waar wanneer hoe jouw jullie ons onze zijn haar hun alle elke ieder deze dit dat zij
		wij nog nu gratis beter sneller makkelijk eenvoudig nieuwe nieuw je uw op te is en in twee
		drie vier vijf tien twintig honderd dag dagen week weken maand jaar uur minuten klein kleine
		goed goede maken vinden kopen leren kunt kan nooit altijd vandaag morgen eerst alleen minder
		vind beste prijs prijzen koop bestel probeer boek`,
	"pl": `dla bez przez przed przy pod nad oraz lub ale nie jest są się jak gdy kiedy gdzie który
		która które twój twoja twoje twoich twojej swój swoje swoich nasz nasza nasze każdy każda
		każde wszystko wszystkie więcej mniej szybko szybciej łatwo nowy nowa nowe najlepszy już
		teraz tylko także ze od po dwa trzy cztery pięć dziesięć dwadzieścia dzień dni tydzień
		miesiąc rok godzin godziny minut mały dobry dobra zrób znajdź kup naucz możesz może nigdy
		zawsze dziś jutro potem najpierw prosty tanie zamów cena ceny oferta`,
	"pt": `os uma uns umas dos das nos nas para por com sem sobre mais entre desde até que como quando
		onde mas muito todo toda todos todas cada seu sua seus suas nosso nossa você voce este esta
		isso não são fácil rápido novo nova grátis melhor menos um em ao aos pelo pela dois três
		quatro cinco dez vinte cem dia dias semana mês hora horas minutos pequeno boa bom fazer
		encontre compre aprenda tem pode nunca sempre hoje amanhã depois antes simples só tudo ainda
		já experimente reserve oferta preço`,
	"ru": `на по для без от до из за при под над или но не это как что где когда кто ваш ваша ваше ваши
		вашего вашей твой твоя твои свой свои своих наш наша наши все всё всех каждый каждая больше
		меньше быстро быстрее легко просто новый новая новые лучший лучшие уже сейчас только также
		об два три четыре пять десять двадцать сто день дня дней неделя неделю месяц год лет час
		часов минут маленький хороший купить найти учить можно может никогда всегда сегодня завтра
		потом сначала простой если чтобы там тут вам вас мы вы они ты он она цена цены закажи
		попробуй`,
}
