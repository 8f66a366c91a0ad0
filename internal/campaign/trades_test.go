package campaign

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/campaign/subject"
)

// An offer of a restricted trade is found in every language of the demo, in texts, links and
// targeting words.
func TestUndeclaredTrades(t *testing.T) {
	for text, trade := range map[string]string{
		"Natural wine, delivered on Friday? Buy wine here":      "alcohol",
		"Wine delivered to your door":                           "alcohol",
		"Weine bestellen, morgen da":                            "alcohol",
		"Des vins livrés chez vous":                             "alcohol",
		"毎月ワインをお届けします":                                          "alcohol",
		"Play at our online casinos tonight":                    "gambling",
		"Sports-betting with a bonus":                           "gambling",
		"Oпline саsino: 50 free spins":                          "gambling", // with Cyrillic letters
		"Sportwetten ohne Steuer":                               "gambling",
		"Apuestas deportivas en vivo":                           "gambling",
		"스포츠토토 추천":                                              "gambling",
		"Meet singles in Leeds":                                 "dating",
		"Singlebörse für Akademiker":                            "dating",
		"婚活アプリで出会おう":                                            "dating",
		"Clinically proven to work":                             "health",
		"Antibiotiques sans ordonnance":                         "health",
		"Lose 10 kg by June":                                    "weight_loss",
		"12 Kilo abnehmen mit Tee":                              "weight_loss",
		"Perdez 5 kilos en un mois":                             "weight_loss",
		"An instant loan of 500 USD":                            "credit",
		"Sofortkredite ab heute":                                "credit",
		"Empréstimo pessoal sem burocracia":                     "credit",
		"Buy Bitcoin with your card":                            "crypto",
		"Kryptowährungen kaufen ab 10 Euro":                     "crypto",
		"买比特币只要一分钟":                                             "crypto",
		"Hunting rifles and scopes":                             "weapons",
		"Jagdgewehre vom Fachmann":                              "weapons",
		"The vape shop of your town":                            "tobacco",
		"Cigarettes électroniques dès 9 €":                      "tobacco",
		"Vote for Ada Example on Sunday":                        "politics",
		"Ihre Stimme für Ada Beispiel":                          "politics",
		"Vota por Ada Ejemplo":                                  "politics",
		strings.ToUpper("place your bets before the game ends"): "gambling",
	} {
		for _, c := range []Campaign{
			{Creative: Creative{Headline: text}}, {Creative: Creative{Subtext: text}}, {Creative: Creative{CTALabel: text}},
			{Targeting: Targeting{Keywords: []string{"x", text}}},
			{Targeting: Targeting{IntentTokens: []string{text}}},
		} {
			claims := c.undeclared()
			require.Len(t, claims, 1, text)
			require.Equal(t, trade, claims[0].trade.Of().Name, text)
			c.Trades = []string{trade}
			require.Empty(t, c.undeclared(), text)
		}
	}
	for link, trade := range map[string]string{
		"https://online-casino.example/": "gambling", "https://www.bestonlinecasino.example/a": "gambling",
		"https://shop.example/buy-wine": "alcohol", "https://shop.example/?q=payday%20loans": "credit",
	} {
		claims := (&Campaign{Creative: Creative{CTAURL: link}}).undeclared()
		require.Len(t, claims, 1, link)
		require.Equal(t, trade, claims[0].trade.Of().Name)
	}
}

// What an ad is about is not what it offers.
func TestTopicIsNotAnOffer(t *testing.T) {
	for _, text := range []string{
		"A notebook for wine tasting", "Which wine goes with fish? Ask our app", "Betting on a new framework",
		"The dating of fossils, in one course", "Carbon dating made simple",
		"Party games for singles and couples", "Credit where it is due", "A budget planner for your mortgage",
		"Track weight and steps", "Losing time in meetings? Lose 10 meetings a week",
		"Crypto libraries that pass audits", "Encryption for every exchange", "Rifle through your files in a second",
		"Shoot a portrait", "Air quality at home", "The vote of the jury is in",
		"Election forecasts as a dataset", "A doctor on every ward: rosters for hospitals", "Kochen ohne Rezept",
		"Trouvez votre candidat en trois jours", "Free shipping", "Poker face: a game about faces",
		"ワインに合うチーズ", "소개팅에서 할 말", "比特币白皮书讲解", "Smoke detectors", "Gin and React: two frameworks",
		"Lotteries as a lesson in probability",
	} {
		require.Empty(
			t, (&Campaign{
				Creative: Creative{Headline: text, Subtext: text}, Targeting: Targeting{Keywords: []string{text}},
			}).undeclared(),
			text,
		)
	}
	require.Empty(t, (&Campaign{Creative: Creative{CTAURL: "https://wine.example/notes"}}).undeclared())
}

// Every phrase is found in itself, and by one trade only.
func TestEveryPhraseIsFound(t *testing.T) {
	for trade, texts := range offered {
		require.NotEqual(t, subject.NoTrade, trade)
		for text := range strings.SplitSeq(texts, ",") {
			reply := strings.NewReplacer("#", "12", "*", "").Replace(strings.TrimSpace(text))
			require.Contains(t, offers("a "+reply+" b"), trade, text)
		}
	}
	require.Len(t, offered, len(subject.Trades))
}
