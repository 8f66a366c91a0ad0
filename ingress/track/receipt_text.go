package track

import (
	"net/http"

	"golang.org/x/text/language"

	"adnet/internal/compliance/adreport"
)

// receiptTexts are the texts of the receipt page in one language. A test checks that every field is
// set in every language.
type receiptTexts struct {
	Lang                                          string // of the page, as BCP 47
	Title, Sandbox, House, Paid                   string
	Ad, LeadsTo, Sponsor, Campaign, Pays, ShownAt string
	Checked                                       string
	Why, Chosen                                   string
	Words, NoWords, WordsEnded                    string
	Place, App, Region, Language                  string
	Offered, NotRemembered, Change                string
	Thanks, Received, Decision                    string
	Report, Ask, Reason, Choose, Wrong            string
	Email, EmailNote, Send                        string
	Network                                       string            // before the operator's name
	Unverified, Verified                          string            // after a sponsor's name, before the account's id
	PaidFor                                       map[string]string // by billing model
	Reasons                                       map[string]string // of [adreport.Reasons]
	Problems                                      map[string]string // by the invalid field of a report
}

var receiptIn = []receiptTexts{{
	Lang: "en", Title: "Ad receipt",
	Sandbox: "This was a test ad that cost nothing.",
	House:   "This was a house ad: the app or site that shows it promotes its own product without payment.",
	Paid:    "This was an advertisement. The sponsor below paid for it.",
	Ad:      "Ad", LeadsTo: "Leads to", Sponsor: "Sponsor", Campaign: "Campaign", Pays: "The sponsor pays",
	ShownAt: "Shown after the auction of",
	Checked: "The signature of this receipt has just been verified.",
	Network: "This receipt comes from the ad network of",
	Why:     "Why this ad",
	Chosen:  "An auction chose it from the ads that matched the request or page at that moment, based on:",
	Words:   "words that the request and the ad share:",
	NoWords: "how well the words of that request match the ad: rare and sensitive words " +
		"are not recorded",
	WordsEnded: "how well the words of that request match the ad: they are shown here for 24 hours only",
	Place:      "the placement of the ad:", App: "the app that shows it:", Region: "the region of the request:",
	Language:      "the language of the request:",
	Offered:       "the sponsor's bid, and how often its ad was shown today",
	NotRemembered: "; you were not remembered, because you had not consented",
	Change: "To change this: ask for something else, choose another language or region in the app, or " +
		"withdraw your consent there. The settings of the app control the data that it sends to this network.",
	Thanks: "Thank you.", Received: "Your report has been received; a person of this network will review it.",
	Decision: "You will get the decision by e-mail.",
	Report:   "Report this ad",
	Ask:      "Is it illegal, misleading or otherwise unacceptable as an ad? No account is needed.",
	Reason:   "Reason", Choose: "Choose",
	Wrong: "What is wrong? (at most 1,000 characters)", Email: "E-mail, if you want to receive the decision",
	EmailNote:  "The e-mail is used only for the decision and then deleted, after 90 days at most.",
	Send:       "Send report",
	Unverified: "not verified; account", Verified: "verified by this network; account",
	PaidFor: map[string]string{
		"cpm": "for showing it", "cpc": "for a click on it", "cpa": "for a conversion after it",
		"vcpm": "for a view of it",
	},
	Reasons: map[string]string{
		"illegal": "It is illegal", "misleading": "It is misleading", "offensive": "It is offensive",
		"scam":    "It is a scam",
		"malware": "It leads to harmful software", "not_labelled": "It was not marked as an ad",
		adreport.UnsuitablePlace: "This ad should not have been here (without a text)", "other": "Something else",
	},
	Problems: map[string]string{
		"reason": "Choose a reason.", "text": "The text may have at most 1,000 characters, without control characters.",
		"email": "This is not an e-mail address; leave it empty if you do not want the decision.",
	},
}, {
	Lang: "de", Title: "Beleg einer Anzeige",
	Sandbox: "Das war eine Testanzeige: Niemand hat dafür bezahlt.",
	House:   "Das war eine Eigenanzeige: Wer sie zeigt, wirbt für Eigenes, und niemand hat dafür bezahlt.",
	Paid:    "Das war eine Anzeige. Der unten genannte Auftraggeber hat dafür bezahlt.",
	Ad:      "Anzeige", LeadsTo: "Führt zu", Sponsor: "Auftraggeber", Campaign: "Kampagne",
	Pays:    "Der Auftraggeber zahlt",
	ShownAt: "Gezeigt nach der Auktion vom",
	Checked: "Die Signatur dieses Belegs wurde soeben geprüft.",
	Network: "Dieser Beleg kommt vom Werbenetzwerk von",
	Why:     "Warum diese Anzeige",
	Chosen: "Eine Auktion hat sie unter den Anzeigen gewählt, die zu dem passten, was in diesem Augenblick " +
		"gefragt oder gezeigt wurde, nach:",
	Words: "Wörtern, die Anfrage und Anzeige gemeinsam haben:",
	NoWords: "wie gut die Wörter der Anfrage zur Anzeige passen: Aufbewahrt wird keines, das wenige benutzen " +
		"oder das heikel ist",
	WordsEnded: "wie gut die Wörter der Anfrage zur Anzeige passen: Sie stehen hier nur 24 Stunden lang",
	Place:      "dem Ort der Anzeige:", App: "der App, die sie zeigt:", Region: "der Region der Anfrage:",
	Language:      "der Sprache der Anfrage:",
	Offered:       "was der Auftraggeber geboten hat und wie oft seine Anzeige heute gezeigt wurde",
	NotRemembered: "; gemerkt hat man sich von Ihnen nichts, denn Sie hatten nicht zugestimmt",
	Change: "So ändern Sie das: Fragen Sie nach etwas anderem, wählen Sie in der App eine andere Sprache " +
		"oder Region oder widerrufen Sie dort Ihre Einwilligung. Was die App diesem Netzwerk mitteilt, steht in " +
		"deren eigenen Einstellungen.",
	Thanks: "Danke.", Received: "Ihre Meldung ist gespeichert; ein Mensch dieses Netzwerks sieht sie an.",
	Decision: "Die Entscheidung kommt per E-Mail.",
	Report:   "Diese Anzeige melden",
	Ask:      "Ist sie rechtswidrig, irreführend oder nicht, was eine Anzeige sein soll? Ein Konto ist nicht nötig.",
	Reason:   "Grund", Choose: "Bitte wählen",
	Wrong:      "Was ist falsch daran? (höchstens 1.000 Zeichen)",
	Email:      "E-Mail, wenn Sie die Entscheidung erfahren möchten",
	EmailNote:  "Die E-Mail-Adresse dient allein der Entscheidung und wird mit ihr vergessen, spätestens nach 90 Tagen.",
	Send:       "Meldung senden",
	Unverified: "nicht geprüft; Konto", Verified: "von diesem Netzwerk geprüft; Konto",
	PaidFor: map[string]string{
		"cpm": "für die Impression", "cpc": "für einen Klick darauf", "cpa": "für eine Conversion danach",
		"vcpm": "für eine gesehene Impression",
	},
	Reasons: map[string]string{
		"illegal": "Sie ist rechtswidrig", "misleading": "Sie ist irreführend", "offensive": "Sie ist anstößig",
		"scam":    "Sie ist Betrug",
		"malware": "Sie führt zu schädlicher Software", "not_labelled": "Sie war nicht als Anzeige gekennzeichnet",
		adreport.UnsuitablePlace: "Diese Anzeige hätte hier nicht stehen dürfen (ohne Text)", "other": "Etwas anderes",
	},
	Problems: map[string]string{
		"reason": "Bitte wählen Sie einen Grund.",
		"text":   "Der Text darf höchstens 1.000 Zeichen haben, ohne Steuerzeichen.",
		"email":  "Das ist keine E-Mail-Adresse; leer heißt, Sie erfahren nichts mehr.",
	},
}}

var receiptLanguages = func() language.Matcher {
	tags := make([]language.Tag, len(receiptIn))
	for i := range receiptIn {
		tags[i] = language.Make(receiptIn[i].Lang)
	}
	return language.NewMatcher(tags) // the first language is the fallback
}()

// maxAccepted is the maximum length of Accept-Language; browsers send a few dozen bytes.
const maxAccepted = 256

// receiptFor returns the texts in the language that a reader's browser prefers.
func receiptFor(header http.Header) *receiptTexts {
	accepted := header.Get("Accept-Language")
	if len(accepted) > maxAccepted {
		return &receiptIn[0]
	}
	wanted, _, err := language.ParseAcceptLanguage(accepted)
	if err != nil {
		return &receiptIn[0]
	}
	_, at, _ := receiptLanguages.Match(wanted...)
	return &receiptIn[at]
}

type reasonChoice struct {
	Value, Words string
	Chosen       bool
}

// reasons returns the reasons that a reader may choose.
func (t *receiptTexts) reasons(chosen string) []reasonChoice {
	list := make([]reasonChoice, len(adreport.Reasons))
	for i, value := range adreport.Reasons {
		list[i] = reasonChoice{value, t.Reasons[value], value == chosen}
	}
	return list
}
