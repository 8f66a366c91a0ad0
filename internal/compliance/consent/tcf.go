package consent

import (
	"github.com/prebid/go-gdpr/consentconstants"
	tcf "github.com/prebid/go-gdpr/vendorconsent/tcf2"
)

// storage parses a TC string and checks consent to purpose 1, to store and access information on a
// device. The library trusts some lengths stated in the text, hence the recover.
func storage(text string) (f Flags) {
	defer func() {
		if recover() != nil {
			f = Malformed
		}
	}()
	if len(text) > maxText || !tcf.IsConsentV2(text) {
		return Malformed
	}
	consent, err := tcf.ParseString(text)
	switch {
	case err != nil:
		return Malformed
	case !consent.PurposeAllowed(consentconstants.InfoStorageAccess):
		return NoStorage
	}
	return 0
}
