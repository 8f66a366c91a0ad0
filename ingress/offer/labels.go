package offer

import (
	"cmp"
	"strings"
)

// Labels are the texts of the network beside an ad, in one language.
type Labels struct {
	Disclosure string // marks an ad as an ad
	House      string // marks a house ad
	Why        string // text of the link to the receipt
}

// labelsIn has the labels by language: the only list of them. Clients show what a reply carries.
// "" is for readers of other or unknown languages. zh is written in simplified characters.
var labelsIn = map[string]Labels{
	"":        {"Sponsored", "House ad", "Why this ad?"},
	"de":      {"Anzeige", "Eigenanzeige", "Warum diese Anzeige?"},
	"es":      {"Patrocinado", "Anuncio propio", "¿Por qué este anuncio?"},
	"fr":      {"Sponsorisé", "Publicité maison", "Pourquoi cette publicité\u00a0?"},
	"ja":      {"広告", "自社広告", "この広告が表示される理由"},
	"ko":      {"광고", "자체 광고", "이 광고가 표시되는 이유"},
	"pt":      {"Patrocinado", "Anúncio próprio", "Por que este anúncio?"},
	"zh":      {"广告", "自有广告", "为什么显示此广告？"},
	"zh-Hant": {"廣告", "自有廣告", "為什麼顯示這則廣告？"},
}

// LabelConfig holds the labels that the operator fixes.
type LabelConfig struct {
	Disclosure string `name:"disclosure-label" env:"ADNET_DISCLOSURE_LABEL" help:"Label that marks an ad as an ad (default: by user_language; Sponsored in English)."`
	HouseLabel string `name:"house-label" env:"ADNET_HOUSE_LABEL" help:"Label that marks a house ad: a publisher's own campaign, shown where nothing else was sold (default: by user_language; House ad in English)."`
	WhyLabel   string `name:"why-label" env:"ADNET_WHY_LABEL" help:"Text of the link to the receipt of an ad (default: by user_language; Why this ad? in English)."`
}

// Labels returns the labels for readers of a language, a tag of package locale: those that the
// operator fixed, else those of the language.
func (c *LabelConfig) Labels(language string) Labels {
	of := labelsFor(language)
	return Labels{
		Disclosure: cmp.Or(c.Disclosure, of.Disclosure), House: cmp.Or(c.HouseLabel, of.House),
		Why: cmp.Or(c.WhyLabel, of.Why),
	}
}

// labelsFor returns the labels of the longest known beginning of a tag, such as zh-Hant of
// zh-Hant-TW.
func labelsFor(tag string) Labels {
	for tag != "" {
		if found, ok := labelsIn[tag]; ok {
			return found
		}
		tag = tag[:max(strings.LastIndexByte(tag, '-'), 0)]
	}
	return labelsIn[""]
}

// WhyLabel returns the text of the link to ad's receipt for a reply. It is empty for the text of
// English, which clients show where a reply has none.
func (ad *Ad) WhyLabel() string {
	if ad.Why == labelsIn[""].Why {
		return ""
	}
	return ad.Why
}
