package rtb

import (
	"net/url"
	"slices"
	"strings"

	"adnet/internal/campaign"
	"adnet/internal/compliance/adtext"
)

// domains replaces the entries of a list of advertisers by their hosts in the form of
// [adtext.Domain]. Entries that name no host are left out, unreadable ones make the list
// unreadable.
func domains(n *names) []string {
	remaining := n.list[:0]
	for _, entry := range n.list {
		host, ok := adtext.Domain(entry)
		switch {
		case !ok:
			n.state = unreadable
		case host != "":
			remaining = append(remaining, host)
		}
	}
	n.list = remaining
	return remaining
}

// inDomain reports whether host is domain or below it; both are in the form of [adtext.Domain].
func inDomain(host, domain string) bool {
	rest, is := strings.CutSuffix(host, domain)
	return is && (rest == "" || strings.HasSuffix(rest, "."))
}

// advertiserDomain returns the domain of a landing page in the form of block lists.
func advertiserDomain(link string) string {
	host, _ := adtext.Domain(link)
	return host
}

// apps replaces the entries of bapp by ids of apps: links to stores have them inside.
func apps(n *names) []string {
	for i, entry := range n.list {
		if id := storeApp(entry); id != "" {
			entry = id
		}
		n.list[i] = appID(entry)
	}
	return n.list
}

// appID returns the id of an app in the form in which ids are compared: Apple's are numbers, with
// or without "id" before them.
func appID(id string) string {
	id = strings.ToLower(strings.Trim(id, "/"))
	if number, is := strings.CutPrefix(id, "id"); is && number != "" && strings.Trim(number, "0123456789") == "" {
		return number
	}
	return id
}

// appBlocked reports whether a campaign leads to an app of a block list.
func appBlocked(blocked []string, c *campaign.Campaign) bool {
	if len(blocked) == 0 {
		return false
	}
	id := storeApp(c.CTAURL)
	return id != "" && slices.Contains(blocked, appID(id))
}

// storeApp returns the id of the app that a link to the stores of Google, Apple or Amazon names, ""
// for another link.
func storeApp(link string) string {
	host := advertiserDomain(link)
	if _, rest, is := strings.Cut(link, "//"); is {
		link = rest
	}
	u, err := url.Parse("https://" + link)
	if err != nil {
		return ""
	}
	last := u.Path[strings.LastIndexByte(strings.TrimSuffix(u.Path, "/"), '/')+1:]
	switch host {
	case "play.google.com", "market.android.com":
		return u.Query().Get("id")
	case "apps.apple.com", "itunes.apple.com":
		return last
	case "amazon.com":
		if _, asin, is := strings.Cut(u.Path, "/dp/"); is {
			asin, _, _ = strings.Cut(asin, "/")
			return asin
		}
	}
	return ""
}
