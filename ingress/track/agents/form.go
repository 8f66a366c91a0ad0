package agents

import (
	"slices"
	"strings"
	"unicode"
)

// form judges a user agent that no pattern matches by its form: a robot names itself as one, adds a
// contact to a browser's agent, or is compatible with a browser without naming a system. A program
// that begins with the name of a library, or gives only a contact or its work, may be a publisher's
// server, so it is a tool. The model of a device is never examined: Cubot, M bot and Spider are
// phones.
func form(agent string) Kind {
	a := written{text: strings.ToLower(agent)}
	a.browser = strings.HasPrefix(a.text, "mozilla/") || strings.HasPrefix(a.text, "opera/")
	a.apple = strings.Contains(a.text, "cfnetwork/") && strings.Contains(a.text, "darwin/")
	a.system = containsAny(a.text, systems)
	switch {
	case agent == "":
		return Unlisted
	case a.absurd(), a.robotName(), a.browser && a.contact(), a.compatible():
		return Robot
	case a.placeholder(), a.library(), a.contact(), a.automated(), a.service():
		return Tool
	}
	return Unlisted
}

// written is a user agent in lower case, with what is known of its form.
type written struct {
	text    string
	browser bool // begins as browsers do
	apple   bool // the form of an application of Apple's systems: Name/1 CFNetwork/1 Darwin/1
	system  bool // names a system that a person uses
}

// systems are parts of agents that name the system of a person's device.
var systems = []string{
	"android", " adr ", "iphone", "ipad", "ipod", "ios/", "ios ", "watchos", "tvos", "apple", "darwin", "mac os",
	"macos",
	"macintosh", "mac_powerpc", "windows", "winnt", "win64", "win32", "win98", "linux", "x11", "cros ",
	"openbsd", "freebsd",
	"netbsd", "sunos", "viera", "symbian", "series60", "midp", "cldc", "blackberry", "bb10", "playbook", "tizen",
	"webos", "web0s",
	"hbbtv", "smarttv", "smart-tv", "netcast", "playstation", "nintendo", "xbox", "kaios", "harmony", "brew",
	"palm", "amiga",
	"morphos", "beos", "haiku", "risc os", "syllable", "kindle", "roku", "msie", "trident", "konqueror", "opera",
	"omniweb",
	"icab", "netfront", "up.browser", "avantgo", "netpositive", "os/2", "dos", "qnx", "cronet",
}

// phones are the systems whose applications add their home page, with a plus, to their agent.
var phones = []string{"android", "iphone", "ipad", "ios/", "watch", "darwin"}

// absurdities are parts of agents that no program of a person sends: templates that were not
// replaced, and attacks.
var absurdities = []string{"${", "{{", "%{", "<script", "javascript:", "() {", "/etc/passwd", "union select"}

// absurd reports whether the agent names nothing, or is an attack. Mozilla/5.0 alone is what is left
// of a browser's agent that a proxy or an extension hides.
func (a written) absurd() bool {
	switch strings.TrimSpace(a.text) {
	case "mozilla", "mozilla/4.0", "mozilla/5.0 (compatible)":
		return true
	}
	return containsAny(a.text, absurdities)
}

// homes are the home pages of browsers that name them in their agent.
var homes = []string{"bsalsa.com", "qtweb.net", "avantbrowser.com", "orcabrowser.com"}

// contact reports whether the agent gives the page or the e-mail address of its operator. Readers
// of feeds and podcasts give their home page beside the system of the device.
func (a written) contact() bool {
	for i := range len(a.text) {
		switch rest := a.text[i:]; rest[0] {
		case 'h', 'w', 'm':
			if !strings.HasPrefix(rest, "http://") && !strings.HasPrefix(rest, "https://") &&
				!strings.HasPrefix(
					rest,
					"www.",
				) && !strings.HasPrefix(rest, "mailto:") || i > 0 && letter(a.text[i-1]) {
				continue
			}
			if containsAny(rest, homes) {
				continue
			}
			if plus := strings.HasSuffix(strings.TrimRight(a.text[:i], " "), "+"); plus && !containsAny(a.text, phones) ||
				a.browser ||
				!plus && !a.system && page(rest) {
				return true
			}
		case '@':
			if i > 0 && word(a.text[i-1]) && domain(rest[1:]) {
				return true
			}
		}
	}
	return false
}

// page reports whether a URL has more than a host: a home page is no contact.
func page(url string) bool {
	_, url, _ = strings.Cut(url, "://")
	end := strings.IndexAny(url, "/)>;, ")
	return end > 0 && url[end] == '/' && end+1 < len(url) && word(url[end+1])
}

// domain reports whether text begins with a host name of two labels or more.
func domain(text string) bool {
	end := 0
	for end < len(text) && (word(text[end]) || text[end] == '.' || text[end] == '-') {
		end++
	}
	host := strings.TrimRight(text[:end], ".")
	dot := strings.LastIndexByte(host, '.')
	return dot > 0 && len(host)-dot > 2 && !strings.ContainsFunc(host[dot+1:], func(r rune) bool { return r < 'a' })
}

// robotWords end the names of robots.
var robotWords = []string{"bot", "spider", "scraper", "crawler"}

// robotName reports whether a name in the agent ends in a word for a robot: FooBot, foo-crawler/2.
func (a written) robotName() bool {
	if a.apple {
		return false
	}
	if strings.Contains(a.text, "crawl") && !strings.Contains(a.segment(strings.Index(a.text, "crawl")), "android") {
		return true
	}
	for _, name := range robotWords {
		for from := 0; ; {
			i := strings.Index(a.text[from:], name)
			if i < 0 {
				break
			}
			start, end := from+i, from+i+len(name)
			if from = end; end < len(a.text) && letter(a.text[end]) {
				continue
			}
			if a.robotAt(start, end) {
				return true
			}
		}
	}
	return false
}

// robotAt reports whether the word for a robot between two positions is not part of a device's
// model. Models stand beside the name of their system, without a version.
func (a written) robotAt(start, end int) bool {
	begin := start
	for begin > 0 && word(a.text[begin-1]) {
		begin--
	}
	if name := a.text[begin:end]; name == "cubot" || strings.HasSuffix(name, "chatbot") {
		return false // a phone, and applications for conversations
	}
	versioned := end+1 < len(a.text) && a.text[end] == '/' && (digit(a.text[end+1]) || a.text[end+1] == 'v')
	return versioned || !containsAny(a.segment(start), []string{"android", "adr ", "dpi;"})
}

// segment returns the comment around a position, or the whole agent outside of comments.
func (a written) segment(at int) string {
	open := strings.LastIndexByte(a.text[:at], '(')
	if open < 0 || strings.LastIndexByte(a.text[:at], ')') > open {
		if a.browser {
			return ""
		}
		return a.text
	}
	end := strings.IndexByte(a.text[at:], ')')
	if end < 0 {
		return a.text[open:]
	}
	return a.text[open : at+end]
}

// compatible reports whether the agent says that it is compatible with browsers, and names no
// system: Mozilla/5.0 (compatible; Foo/1.0).
func (a written) compatible() bool {
	if !a.browser || !strings.HasPrefix(a.text, "mozilla/5") && !strings.HasPrefix(a.text, "opera/") {
		return false
	}
	for from := 0; ; {
		i := strings.Index(a.text[from:], "compatible;")
		if i < 0 {
			return false
		}
		from += i + len("compatible;")
		rest, _, _ := strings.Cut(a.text[from:], ")")
		if rest = strings.TrimSpace(rest); len(rest) > 1 && letter(rest[0]) && !containsAny(rest, systems) {
			return true
		}
	}
}

// services are words for what robots do.
var services = []string{
	"fetch", "monitor", "checker", "scan", "indexer", "archiv", "validator", "analyzer", "probe", "uptime",
	"healthcheck",
	"preview", "unfurl", "screenshot", "thumbnail", "seo", "audit", "harvest", "sitemap", "webhook",
}

// service reports whether a program that is no browser and names no system names a robot's work.
func (a written) service() bool { return !a.browser && !a.system && containsAny(a.text, services) }

// library reports whether the agent begins with the name of a library or tool that sends requests.
func (a written) library() bool {
	return !a.apple && slices.ContainsFunc(libraries, func(name string) bool {
		rest, found := strings.CutPrefix(a.text, name)
		return found && (rest == "" || !word(rest[0]))
	})
}

// placeholders are the values that programs send in place of an agent.
var placeholders = []string{
	"null", "nil", "none", "undefined", "unknown", "empty", "n/a", "na", "nan", "false", "true", "(null)", "<null>",
	"[object object]", "user-agent", "useragent", "user agent", "test", "string", "default", "client", "http", "agent",
}

// placeholder reports whether the agent has no letter or digit, or is a value without a name.
func (a written) placeholder() bool {
	text := strings.Trim(strings.TrimSpace(a.text), `"'`)
	return slices.Contains(placeholders, text) || !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	})
}

// drivers name the automation of a browser beside the browser.
var drivers = []string{" cypress/", " playwright/", " puppeteer/", " selenium/"}

// automated reports whether a browser's agent names the program that drives it.
func (a written) automated() bool { return containsAny(a.text, drivers) }

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
func word(c byte) bool   { return letter(c) || digit(c) || c == '_' }
