package rtb

import "adnet/internal/compliance/consent"

// consent returns the consent flags of the request's person. It reads the fields of this version of
// OpenRTB and of the one before; a yes in either counts.
func (b *bidRequest) consent() consent.Flags {
	sent := b.Regs.set || b.User.set || b.Device.set
	bad := b.Regs.bad || b.User.bad || b.Device.bad
	if !sent && !bad {
		return 0
	}
	own, ext := &b.Regs.v.regulations, &b.Regs.v.Ext.v
	signals := consent.Signals{
		TCF: string(first(b.User.v.Consent, b.User.v.Ext.v.Consent)), GPP: string(first(own.GPP, ext.GPP)),
		USPrivacy: string(first(own.USPrivacy, ext.USPrivacy)),
		GDPR:      either(own.GDPR, ext.GDPR), COPPA: either(own.COPPA, ext.COPPA), GPC: either(own.GPC, ext.GPC),
		Limited:    b.Device.v.LMT.Strict() || b.Device.v.DNT.Strict(),
		Unreadable: bad || b.Regs.v.Ext.bad || b.User.v.Ext.bad,
	}
	if own.GPPSID.state != unreadable && ext.GPPSID.state != unreadable { // else all sections are in force
		signals.Sections = own.GPPSID.list
		if len(signals.Sections) == 0 {
			signals.Sections = ext.GPPSID.list
		}
	}
	return signals.Read()
}

// either combines a flag from two fields: the first that is set strictly counts, else the first that
// is stated.
func either(a, b consent.Choice) consent.Choice {
	switch {
	case a.Strict():
		return a
	case b.Strict():
		return b
	case a != consent.Unsaid:
		return a
	}
	return b
}

// requiresDSA reports whether the market requires a statement under the EU's Digital Services Act in
// bids, which ours do not have. An unreadable requirement counts.
func (b *bidRequest) requiresDSA() bool {
	for _, o := range [...]*object[dsa]{&b.Regs.v.DSA, &b.Regs.v.Ext.v.DSA} {
		if o.v.Required.above(1) || o.v.Required.below(0) {
			return true
		}
	}
	return false
}
