package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// documents are the Markdown files of the repository by path, those of test data and fetched tools
// aside.
func documents(t *testing.T) map[string]string {
	t.Helper()
	return texts(t, ".md")
}

// texts reads every file with one of the endings.
func texts(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() &&
			(strings.HasPrefix(entry.Name(), ".") && name != "." || slices.Contains(
				[]string{"testdata", "node_modules"}, entry.Name(),
			)) {
			return filepath.SkipDir
		}
		if !slices.Contains(endings, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(name)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// prose calls each for the lines of a document outside of code.
func prose(text string, each func(number int, line string)) {
	code := false
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if !code && !strings.HasPrefix(line, "    ") {
			each(number, line)
		}
	}
}

const maxColumns = 100

// TestDocumentsAreWrapped holds prose to 100 columns; tables may be wider.
func TestDocumentsAreWrapped(t *testing.T) {
	for name, text := range documents(t) {
		prose(text, func(number int, line string) {
			if n := utf8.RuneCountInString(line); n > maxColumns && !strings.HasPrefix(line, "|") && !strings.Contains(line, " | ") &&
				strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s:%d has %d columns", name, number, n)
			}
		})
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	quoted  = regexp.MustCompile("`([^`\n]+)`")
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// place is a path below one of the top-level folders, or a file beside go.mod.
	place = regexp.MustCompile(
		`^(analytics|auction|cmd|consumers|deploy|docs|examples|ingress|internal|lab|schemas|sdk|web)(/[A-Za-z0-9_.*-]+)*/?$`,
	)
	file = regexp.MustCompile(`^[A-Za-z0-9_-]+\.(go|md|yml)$|^Makefile$`)
)

// anchors are the names under which the headings of a document can be linked to.
func anchors(text string) map[string]bool {
	found := make(map[string]bool)
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(match[1]))
		found[name] = true
	}
	return found
}

// history is what names files that are gone.
var history = []string{"CHANGELOG.md"}

// TestDocumentsNameFilesThatExist follows every relative link, and looks up every path in
// backquotes.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	all := documents(t)
	for name, text := range all {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", name, match[1])
			} else if anchor != "" && !anchors(all[to])[anchor] {
				t.Errorf("%s links to %s, which has no such heading", name, match[1])
			}
		}
		if slices.Contains(history, name) {
			continue
		}
		prose(text, func(number int, line string) {
			for _, match := range quoted.FindAllStringSubmatch(line, -1) {
				if !place.MatchString(match[1]) && !(path.Dir(name) == "." && file.MatchString(match[1])) {
					continue
				}
				if found, err := filepath.Glob(match[1]); err != nil || len(found) == 0 {
					t.Errorf("%s:%d names %s, which is not there", name, number, match[1])
				}
			}
		})
	}
}

// TestDocumentsNameTestsThatExist looks up every test in backquotes.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	known := make(map[string]bool)
	for _, text := range texts(t, ".go") {
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(text, -1) {
			known[match[1]] = true
		}
	}
	for name, text := range documents(t) {
		if slices.Contains(history, name) {
			continue
		}
		for _, match := range regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(text, -1) {
			if !known[match[1]] {
				t.Errorf("%s names the test %s, there is none", name, match[1])
			}
		}
	}
}

// TestDocumentsNameSettingsThatExist looks every variable up in the sources, and every one of the
// program in settings.md.
func TestDocumentsNameSettingsThatExist(t *testing.T) {
	known := make(map[string]bool)
	defined := regexp.MustCompile(`"(ADNET_[A-Z0-9_]+)"|\$\{?(ADNET_[A-Z0-9_]+)`)
	for _, text := range texts(t, ".go", ".sh", ".yml", ".xml", ".py") {
		for _, match := range defined.FindAllStringSubmatch(text, -1) {
			known[match[1]+match[2]] = true
		}
	}
	for name, text := range documents(t) {
		for _, variable := range regexp.MustCompile(`ADNET_[A-Z0-9_]*`).FindAllString(text, -1) {
			if strings.HasSuffix(variable, "_") { // of a group, like ADNET_LEASE_*
				found := false
				for item := range known {
					found = found || strings.HasPrefix(item, variable)
				}
				if !found {
					t.Errorf("%s names settings %s*, there are none", name, variable)
				}
			} else if !known[strings.TrimSuffix(variable, "_FILE")] && !known[variable] { // a secret's file
				t.Errorf("%s names the setting %s, there is none", name, variable)
			}
		}
	}
}

// metrics are the names of the metrics of the program. Some are put together of a prefix and a rest
// in one package.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	whole := regexp.MustCompile(`"(adnet_[a-z0-9_]*[a-z0-9])"`)
	prefix := regexp.MustCompile(`"(adnet_[a-z0-9_]*_)" ?\+`)
	rest := regexp.MustCompile(`"([a-z][a-z0-9_]*[a-z0-9])"|"(_[a-z0-9_]+)"`)
	prefixes, rests, known := map[string][]string{}, map[string][]string{}, map[string]bool{}
	for name, text := range texts(t, ".go") {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "lab/") {
			continue
		}
		folder := path.Dir(name)
		for _, match := range whole.FindAllStringSubmatch(text, -1) {
			known[match[1]] = true
		}
		for _, match := range prefix.FindAllStringSubmatch(text, -1) {
			prefixes[folder] = append(prefixes[folder], match[1])
		}
		for _, match := range rest.FindAllStringSubmatch(text, -1) {
			rests[folder] = append(rests[folder], match[1]+match[2])
		}
	}
	for folder, list := range prefixes {
		for _, item := range list {
			for _, end := range rests[folder] {
				known[item+end] = true
				for _, tail := range rests[folder] { // adnet_archive_ + auctions + _total
					if strings.HasPrefix(tail, "_") {
						known[item+end+tail] = true
					}
				}
			}
		}
	}
	return known
}

// TestDocumentsNameMetricsThatExist looks every metric up in the sources.
func TestDocumentsNameMetricsThatExist(t *testing.T) {
	known := metrics(t)
	others := []string{"adnet_app", "adnet_test"} // roles and databases
	for name, text := range documents(t) {
		for _, metric := range regexp.MustCompile(`adnet_[a-z0-9_]*[a-z0-9]`).FindAllString(text, -1) {
			series := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(metric, "") // of a histogram
			if !known[metric] && !known[series] && !slices.Contains(others, metric) {
				t.Errorf("%s names the metric %s, there is none", name, metric)
			}
		}
	}
}

// TestOperatingKnowsEveryVerifyLine wants an item for each line of adnet verify and adnet
// reconcile.
func TestOperatingKnowsEveryVerifyLine(t *testing.T) {
	manual := documents(t)["docs/operate/verify.md"]
	named := regexp.MustCompile(`\b(?:Check[A-Z]\w+|line[A-Z]\w+) += "([^"]+)"|Name: "((?:analytics|charges) [^"]+)"`)
	lines := 0
	for name, text := range texts(t, ".go") {
		if !strings.HasPrefix(name, "internal/ledger/") && !strings.HasPrefix(name, "cmd/operate/") ||
			strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			lines++
			if line := match[1] + match[2]; !strings.Contains(manual, "- `"+line+"`: ") {
				t.Errorf("docs/operate/verify.md has no item for %q", line)
			}
		}
	}
	if lines < 30 {
		t.Errorf("found %d lines in the sources: is the test reading them right?", lines)
	}
}

// TestDataKnowsEveryColumn wants each table, view and column of ClickHouse and each table of
// PostgreSQL in data.md.
func TestDataKnowsEveryColumn(t *testing.T) {
	manual := documents(t)["docs/data.md"]
	created := regexp.MustCompile(
		`(?m)^CREATE (?:TABLE|VIEW)(?: IF NOT EXISTS)? (\w+)|^ALTER TABLE \w+ ADD COLUMN IF NOT EXISTS (\w+)|^    (\w+) .*COMMENT '`,
	)
	found := 0
	for name, text := range texts(t, ".sql") {
		if !strings.HasPrefix(name, "schemas/") {
			continue
		}
		for _, match := range created.FindAllStringSubmatch(text, -1) {
			found++
			if word := match[1] + match[2] + match[3]; !strings.Contains(manual, "`"+word+"`") {
				t.Errorf("docs/data.md does not have %s of %s", word, name)
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d names in the schemas: is the test reading them right?", found)
	}
}

// personal finds columns that may hold something of a person, by their names.
var personal = regexp.MustCompile(
	`mail|phone|address|company|birth|(^|_)(first|last|full|display)?_?names?$|password|secret|totp|network|(^|_)ip(_|$)|agent|cookie|device|session|external_id|actor|notes?$|review|reply|changes|^raw$|sample|evidence|_by$|return_url|checkout|payment_id|user_id|impression_id`,
)

// TestPersonalDataIsListed walks the columns of PostgreSQL and ClickHouse: one whose name says that
// it may hold something of a person must be in the table of data.md, which names none that is gone.
func TestPersonalDataIsListed(t *testing.T) {
	_, section, _ := strings.Cut(documents(t)["docs/data.md"], "\n## Personal data\n")
	section, _, _ = strings.Cut(section, "\n## ")
	notOfPeople := map[string]bool{"pruned_total.name": true, "campaign.reviewed": true}
	table := regexp.MustCompile(`^\s*CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	added := regexp.MustCompile(`^\s*ALTER TABLE (\w+) ADD COLUMN (?:IF NOT EXISTS )?(\w+)`)
	column := regexp.MustCompile(`^    ([a-z]\w*) +[A-Za-z]`)
	all, found := map[string]bool{}, 0
	for name, text := range texts(t, ".sql") {
		if !strings.HasPrefix(name, "schemas/") {
			continue
		}
		in := ""
		for line := range strings.Lines(text) {
			var of, is string
			if m := table.FindStringSubmatch(line); m != nil {
				in = m[1]
			} else if m := added.FindStringSubmatch(line); m != nil {
				of, is = m[1], m[2]
			} else if strings.HasPrefix(line, ")") {
				in = ""
			} else if m := column.FindStringSubmatch(line); m != nil && in != "" {
				of, is = in, m[1]
			}
			if is == "" {
				continue
			}
			all[of+"."+is] = true
			if personal.MatchString(is) && !notOfPeople[of+"."+is] {
				found++
				if !strings.Contains(section, "`"+of+"."+is+"`") {
					t.Errorf(
						"docs/data.md does not say how long %s.%s of %s is kept, which may be of a person", of, is,
						name,
					)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d columns of people: is the test reading the schemas right?", found)
	}
	for _, m := range regexp.MustCompile("`(\\w+\\.\\w+)`").FindAllStringSubmatch(section, -1) {
		if !all[m[1]] {
			t.Errorf("docs/data.md lists %s, which no schema has", m[1])
		}
	}
}

// TestGlossaryHasEachWordOnce wants one meaning for each word of ARCHITECTURE.md's glossary.
func TestGlossaryHasEachWordOnce(t *testing.T) {
	_, section, found := strings.Cut(documents(t)["ARCHITECTURE.md"], "\n## Glossary\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no glossary")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	words := make(map[string]bool)
	for _, row := range rows(section) {
		for word := range strings.SplitSeq(row[0], ", ") {
			if words[word] {
				t.Errorf("the glossary has %q twice: one meaning for each word", word)
			}
			words[word] = true
		}
	}
	if len(words) == 0 {
		t.Error("the glossary has no words: is it read right?")
	}
}

// rows are the cells of the tables of a text, head rows aside.
func rows(text string) (list [][]string) {
	head := true
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		switch {
		case !strings.HasPrefix(line, "|"):
			head = true
		case strings.HasPrefix(line, "|--"):
			head = false
		case !head:
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			list = append(list, cells)
		}
	}
	return list
}
