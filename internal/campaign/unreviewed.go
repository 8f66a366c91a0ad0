package campaign

import (
	"slices"

	"adnet/internal/compliance/adtext"
)

// Reach is where a campaign delivers. As a setting (ADNET_UNREVIEWED) it is where a creative
// delivers before a reviewer has approved exactly this version. The zero value is [Everywhere].
type Reach string

// The values.
const (
	Everywhere Reach = "everywhere"
	Pages      Reach = "pages" // pages and banners, which people read, and not where a model reads
	Nowhere    Reach = "nowhere"
)

// restricts reports whether the setting r treats unreviewed creatives apart.
func (r Reach) restricts() bool { return r == Pages || r == Nowhere }

// Creative is a version of a campaign's texts and links.
type Creative struct {
	Format    Format `json:"format"`
	Headline  string `json:"headline"`
	Subtext   string `json:"subtext"`
	CTALabel  string `json:"cta_label"`
	CTAURL    string `json:"cta_url"`
	MediaURL  string `json:"media_url"`
	PosterURL string `json:"poster_url"`
	LogoURL   string `json:"logo_url"`
}

// With returns c with the texts and links of v and without findings, which are about other texts.
func (c *Campaign) With(v Creative) *Campaign {
	d := *c
	d.Creative = v
	d.PolicyViolations, d.Reviewed, d.Approved = nil, true, nil
	return &d
}

// approvedBefore returns c as a reviewer approved it last, or nil if there is no such version or
// the whole campaign is stopped.
func (c *Campaign) approvedBefore() *Campaign {
	if c.Approved == nil || c.Status != Active || slices.ContainsFunc(c.PolicyViolations, Violation.ofCampaign) {
		return nil
	}
	return c.With(*c.Approved)
}

// ofCampaign reports whether v is about the whole campaign, and not about its current version.
func (v Violation) ofCampaign() bool { return v.stops() || v.Rule == RuleSuspended }

// ofTexts reports whether v is about the current version.
func (v Violation) ofTexts() bool { return !v.ofCampaign() }

// Versions returns the version of c that pages show and the one where models read, nil for none.
// r is the setting for unreviewed creatives. While the current version of a campaign waits, the
// version that was approved last goes on in its place: where models read, and in pages too if the
// current one may not deliver there or has another format or landing host.
func (r Reach) Versions(c *Campaign) (pages, models *Campaign) {
	if c.Delivers() {
		pages = c
	}
	if c.Reviewed || !r.restricts() {
		return pages, pages
	}
	before := c.approvedBefore()
	if pages == nil || r == Nowhere || before != nil && !before.fitsBeside(c) {
		return before, before
	}
	return pages, before
}

// fitsBeside reports whether auctions may choose c by what they read of the version other.
func (c *Campaign) fitsBeside(other *Campaign) bool {
	return c.Format == other.Format && adtext.Host(c.CTAURL) == adtext.Host(other.CTAURL)
}

// Of returns where c delivers with the setting r, regardless of budgets and dates.
func (r Reach) Of(c *Campaign) Reach {
	switch pages, models := r.Versions(c); {
	case models != nil:
		return Everywhere
	case pages != nil:
		return Pages
	}
	return Nowhere
}

// Restrict reduces c to what delivers with the setting r: its texts become those that pages show,
// and Approved the version for models if that is another. A campaign that delivers nowhere only
// because of r gets a finding.
func (r Reach) Restrict(c *Campaign) {
	pages, models := r.Versions(c)
	switch {
	case pages != nil:
		*c = *pages
	case c.Delivers():
		c.PolicyViolations = append(slices.Clone(c.PolicyViolations), Violation{
			Rule: ruleUnreviewed, Field: "creative", Message: "no reviewer has approved this version",
		})
	}
	c.PagesOnly = pages != nil && models == nil
	if models == pages {
		c.Approved = nil
	}
}

const ruleUnreviewed = "unreviewed"

// ForModels returns the version of a restricted c for places where a model reads.
func (c *Campaign) ForModels() *Campaign {
	if c.Approved == nil {
		return c
	}
	return c.With(*c.Approved)
}

// settle sets Reviewed and Approved after a change of before into c. A version whose texts were
// approved and had no finding goes on, but only with the trades and targeting words of its approval.
func (s *Service) settle(c, before *Campaign) {
	if c.Review.same(before.Review) && c.sameParts(before.Creative) && statedOf(c).equal(statedOf(before)) {
		return
	}
	last := c.Approved
	if before.Reviewed && !slices.ContainsFunc(before.PolicyViolations, Violation.ofTexts) {
		v := before.Creative
		last = &v
	}
	c.Approved = nil
	if c.Reviewed = s.approved(c); !c.Reviewed && last != nil && s.approved(c.With(*last)) {
		c.Approved = last
	}
}

// same reports whether r and other are the same decision.
func (r *Review) same(other *Review) bool {
	return r == other || r != nil && other != nil && *r == *other
}

// Queued is the reason why a campaign is in the review queue.
type Queued string

// The reasons.
const (
	// QueuedPending: it is in review, live with a finding that an approval clears, or live with
	// undecided reports of readers that count (adreport).
	QueuedPending Queued = "pending"
	// QueuedBound: it is live, no reviewer has approved this version, and it has a [Bound].
	QueuedBound Queued = "bound"
	// QueuedUnreviewed: it is live, and no reviewer has approved this version.
	QueuedUnreviewed Queued = "unreviewed"
)

// QueuedFor returns why c is in the review queue, regardless of reports of readers; empty if it is
// not.
func (c *Campaign) QueuedFor() Queued {
	switch {
	case c.Waits():
		return QueuedPending
	case !c.Unreviewed():
		return ""
	case c.Standing.Bound != "":
		return QueuedBound
	}
	return QueuedUnreviewed
}

// Unreviewed reports whether c is live with a version that no reviewer has approved.
func (c *Campaign) Unreviewed() bool {
	return !c.Reviewed && (c.Status == Active || c.Status == Paused)
}
