package rtb

import "adnet/internal/consent"

// consent returns the consent flags of the request's person. It reads the fields of this version of
// OpenRTB and of the one before; a yes in either counts.
func (b *bidRequest) consent() consent.Flags {
	if !b.Regs.set && !b.User.set && !b.Device.set {
		return 0
	}
	own, ext := &b.Regs.v.regulations, &b.Regs.v.Ext.v
	signals := consent.Signals{
		TCF: string(first(b.User.v.Consent, b.User.v.Ext.v.Consent)), GPP: string(first(own.GPP, ext.GPP)),
		USPrivacy: string(first(own.USPrivacy, ext.USPrivacy)), Sections: own.GPPSID,
		GDPR: either(own.GDPR, ext.GDPR), COPPA: either(own.COPPA, ext.COPPA), GPC: either(own.GPC, ext.GPC),
		Limited: b.Device.v.LMT.is(1) || b.Device.v.DNT.is(1),
	}
	if len(signals.Sections) == 0 {
		signals.Sections = ext.GPPSID
	}
	return signals.Read()
}

// either combines a choice from two fields: a yes in either counts, else the first field that is
// set.
func either(a, b whole) consent.Choice {
	switch {
	case a.is(1) || b.is(1):
		return consent.Yes
	case a.set:
		return consent.Of(a.n)
	case b.set:
		return consent.Of(b.n)
	}
	return consent.Unsaid
}
