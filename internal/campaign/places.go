package campaign

import (
	"regexp"
	"strings"

	"golang.org/x/text/language"
)

// A value that no request can contain would silently match nothing. So regions and languages must
// follow the standards that requests use (ingress/offer/request.go).
var (
	regionForm   = regexp.MustCompile(`^([A-Za-z]{2,3})([-_][A-Za-z0-9]{1,3})?$`)
	languageForm = regexp.MustCompile(`^([A-Za-z]{2,3})([-_][A-Za-z0-9]{2,8})*$`)
)

// checkPlaces checks that requests can contain the regions and languages of f.
func (f *Fields) checkPlaces(t *Targeting) error {
	if f.Regions != nil {
		for _, value := range t.Regions {
			if err := checkRegion(value); err != nil {
				return err
			}
		}
	}
	if f.Languages != nil {
		for _, value := range t.Languages {
			if !isLanguage(value) {
				return invalid(
					"target_languages", "must list BCP 47 languages, such as en or pt-BR; %q is not one", value,
				)
			}
		}
	}
	return nil
}

// checkRegion accepts a country of ISO 3166-1 as two or three letters, and a subdivision of ISO
// 3166-2 by its form.
func checkRegion(value string) error {
	parts := regionForm.FindStringSubmatch(value)
	if parts != nil {
		country := strings.ToUpper(parts[1])
		parsed, err := language.ParseRegion(country)
		region := parsed.Canonicalize()
		switch known := err == nil && region.IsCountry(); {
		case known && (region.String() == country || region.ISO3() == country):
			return nil
		case known: // an alias such as UK, which no request contains
			return invalid(
				"target_regions", "must list ISO 3166 codes; for %q write %s", value, region.String()+parts[2],
			)
		}
	}
	return invalid("target_regions", "must list ISO 3166 codes, such as US or US-CA; %q is not one", value)
}

func isLanguage(value string) bool {
	parts := languageForm.FindStringSubmatch(value)
	if parts == nil {
		return false
	}
	_, err := language.ParseBase(parts[1])
	return err == nil
}
