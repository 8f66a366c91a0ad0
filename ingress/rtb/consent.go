package rtb

import "adnet/internal/consent"

// consent is what the request says about the consent of its person, wherever this version of
// OpenRTB or the one before has it. A yes of either counts.
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

// either is the choice of two places: that of the first that says something, but a yes of either.
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
