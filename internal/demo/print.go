package demo

import (
	"fmt"
	"io"
	"strings"
)

// sampleContext is the first demo request: campaigns of every billing model compete for it.
const sampleContext = "Our build is slow and one flaky test keeps blocking the release. How do I cache the monorepo " +
	"pipeline, " +
	"and how do I roll back a bad deployment on our Kubernetes cluster?"

// Commands returns four lines for a POSIX shell with curl and sed: ad request, impression, click,
// stats. Each is complete except for the variable AD, which the first one sets. The pauses imitate
// a person: a click comes a moment after an impression, and stats follow an event within three
// seconds.
func Commands(baseURL string, creds Credentials) []string {
	base := strings.TrimRight(baseURL, "/")
	bearer := `-H 'Authorization: Bearer ` + creds.PublisherKey + `'`
	return []string{
		`AD=$(curl -sS ` + bearer + ` -H 'Content-Type: application/json' -d '{"context":"` + sampleContext + `"}' '` +
			base + `/v1/ad-request'); printf '%s\n' "$AD"`,
		`curl -sS -o /dev/null -w 'impression: HTTP %{http_code}\n' "` + link("impression_url") + `"`,
		`sleep 1; curl -sS -A Mozilla/5.0 -o /dev/null -w 'click: HTTP %{http_code} to %{redirect_url}\n' "` +
			link("click_url") + `"`,
		`sleep 3; curl -sS ` + bearer + ` '` + base + `/api/stats?type=developer'; echo`,
	}
}

// link extracts a URL from the ad's JSON. URLs contain neither quotes nor backslashes.
func link(field string) string {
	return `$(printf '%s\n' "$AD" | sed -n 's/.*"` + field + `":"\([^"]*\)".*/\1/p')`
}

// Print writes the greeting of `adnet standalone`: the address of the service, the demo credentials
// and the [Commands], one per line and without indentation, for pasting.
func Print(w io.Writer, baseURL string, creds Credentials) error {
	var b strings.Builder
	fmt.Fprintf(&b, "adnet is at %s\n\n", strings.TrimRight(baseURL, "/"))
	fmt.Fprintf(
		&b, "Demo: %d campaigns deliver, %d wait for review. Everything is lost when it stops.\n", creds.Active,
		creds.InReview,
	)
	for _, row := range [][2]string{
		{"advertisers", ends(creds.Advertisers)},
		{"publisher", creds.Publisher},
		{"admin", creds.Admin},
		{"password", creds.Password + "  (for all accounts, and public)"},
		{"publisher key", creds.PublisherKey},
		{"developer id", creds.DeveloperID.String()},
	} {
		fmt.Fprintf(&b, "  %-14s %s\n", row[0], row[1])
	}
	fmt.Fprintf(
		&b, "\nThe console is at %s/ and signs you in to these accounts with one click.\n",
		strings.TrimRight(baseURL, "/"),
	)
	b.WriteString("\nPaste these four lines into a shell: ad request, impression, click, stats.\n\n")
	for _, line := range Commands(baseURL, creds) {
		b.WriteString(line + "\n")
	}
	b.WriteString("\nCtrl-C stops it.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// ends shortens a list to its first and last value.
func ends(list []string) string {
	if len(list) < 3 {
		return strings.Join(list, ", ")
	}
	return list[0] + " … " + list[len(list)-1]
}
