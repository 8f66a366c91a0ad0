package campaign

import (
	"slices"

	"adnet/internal/campaign/locale"
)

// checkPlaces gives the regions and languages of f the canonical form that requests get
// (ingress/offer, ingress/rtb). A value that no request can contain would silently match nothing,
// so it is an error.
func (f *Fields) checkPlaces(t *Targeting) error {
	if f.Regions != nil {
		for i, value := range t.Regions {
			code, current := locale.Region(value)
			switch {
			case code == "":
				return invalid("target_regions", "must list ISO 3166 codes, such as US or US-CA; %q is not one", value)
			case !current: // an alias such as UK
				return invalid("target_regions", "must list ISO 3166 codes; for %q write %s", value, code)
			}
			t.Regions[i] = code
		}
		t.Regions = distinct(t.Regions)
	}
	if f.Languages != nil {
		for i, value := range t.Languages {
			tag, whole := locale.Language(value)
			if !whole {
				return invalid(
					"target_languages", "must list BCP 47 languages, such as en or pt-BR; %q is not one", value,
				)
			}
			t.Languages[i] = tag
		}
		t.Languages = distinct(t.Languages)
	}
	return nil
}

// distinct removes repeated values, keeping the order.
func distinct(values []string) []string {
	remaining := values[:0]
	for _, value := range values {
		if !slices.Contains(remaining, value) {
			remaining = append(remaining, value)
		}
	}
	return remaining
}
