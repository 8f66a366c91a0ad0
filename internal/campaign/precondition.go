package campaign

import (
	"slices"

	"adnet/internal/errs"
)

// Versions are the config versions to which a change may apply; nil is any.
type Versions []int64

// If returns s with a precondition for its changes: a campaign in another version than those of
// only is left as it is, and the error is errs.PreconditionFailed with the present state in the
// field campaign. The store checks it in the transaction of the change, so of two changes to one
// version exactly one succeeds. A further precondition does not replace the first.
func (s *Service) If(only Versions) *Service {
	if only == nil {
		return s
	}
	limited := *s
	limited.only = append(slices.Clip(s.only), only)
	return &limited
}

// At reports whether the settings, status and review of c are those of a config version.
func (c *Campaign) At(version int64) bool {
	return c.SettingsVersion <= version && version <= c.ConfigVersion
}

// current checks the preconditions of s for c.
func (s *Service) current(c *Campaign) error {
	for _, only := range s.only {
		if !slices.ContainsFunc(only, c.At) {
			return errs.New(
				errs.PreconditionFailed,
				"the campaign is in version %d, not in the one that you read: compare with the present state and "+
					"send the change again for it", c.ConfigVersion,
			).With("campaign", s.reaching(c.Clone()))
		}
	}
	return nil
}
