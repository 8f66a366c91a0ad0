package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
)

// sender is the kind of sender of a corpus's agents.
type sender string

const (
	common sender = "common browsers"
	person sender = "people"
	robot  sender = "robots"
)

// source is a package with agents. Its reader returns the agents of a file, or none if the file is
// no corpus.
type source struct {
	registry, name, version string
	agentsOf                func(file string, text []byte) (map[sender][]string, error)
}

func (p source) String() string { return p.name + " " + p.version }

// maxFile bounds the size of a file that is read.
const maxFile = 64 << 20

var packages = []source{
	{"npm", "user-agents", "2.1.198", browsers("dist/user-agents.json")},
	{"npm", "top-user-agents", "2.1.138", plainList("src/index.json")},
	{"pypi", "fake-useragent", "2.2.0", browserLines("browsers.jsonl")},
	{"pypi", "device-detector", "6.5.1", fixtures},
	{"pypi", "crawlerdetect", "0.4.2", lines},
	{"npm", "woothee", "1.11.1", testsets},
}

// agents returns the distinct agents of the package's files.
func (p source) agents(files map[string][]byte) (map[sender][]string, error) {
	all := make(map[sender][]string)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		found, err := p.agentsOf(file, files[file])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for of, agents := range found {
			all[of] = append(all[of], agents...)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the package contains no agents")
	}
	for of, agents := range all {
		slices.Sort(agents)
		agents = slices.Compact(agents)
		all[of] = slices.DeleteFunc(agents, func(agent string) bool { return strings.TrimSpace(agent) == "" })
	}
	return all, nil
}

// read returns the files of the package, which it downloads unless the cache has it.
func (p source) read(ctx context.Context, cache string) (map[string][]byte, error) {
	dir := filepath.Join(cache, p.registry+"-"+p.name+"-"+p.version)
	archives, err := filepath.Glob(filepath.Join(dir, "*gz"))
	if err == nil && len(archives) == 0 {
		if err = p.download(ctx, dir); err == nil {
			archives, err = filepath.Glob(filepath.Join(dir, "*gz"))
		}
	}
	if err != nil {
		return nil, err
	}
	if len(archives) != 1 {
		return nil, fmt.Errorf("%s has %d archives instead of one: remove the folder", dir, len(archives))
	}
	return unpack(archives[0])
}

func (p source) download(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	get := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", dir, p.name+"@"+p.version)
	if p.registry == "pypi" {
		get = exec.CommandContext(
			ctx,
			"python3",
			"-m",
			"pip",
			"download",
			"--quiet",
			"--no-deps",
			"--no-binary",
			":all:",
			"--dest",
			dir,
			p.name+"=="+p.version,
		)
	}
	get.Stderr = os.Stderr
	return get.Run()
}

// unpack returns the files of a .tar.gz archive, without the name of its folder.
func unpack(archive string) (map[string][]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		_, name, _ := strings.Cut(header.Name, "/")
		if files[name], err = io.ReadAll(io.LimitReader(r, maxFile)); err != nil {
			return nil, err
		}
	}
}

type browser struct {
	Camel string `json:"userAgent"`
	Plain string `json:"useragent"`
}

// browsers reads a JSON array of browsers.
func browsers(corpus string) func(string, []byte) (map[sender][]string, error) {
	return func(file string, text []byte) (map[sender][]string, error) {
		var list []browser
		if file != corpus {
			return nil, nil
		}
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		return collect(common, list), nil
	}
}

// browserLines reads a JSON object a line.
func browserLines(corpus string) func(string, []byte) (map[sender][]string, error) {
	return func(file string, text []byte) (map[sender][]string, error) {
		if path.Base(file) != corpus {
			return nil, nil
		}
		var list []browser
		for line := range strings.Lines(string(text)) {
			var first browser
			if err := json.Unmarshal([]byte(line), &first); err != nil {
				return nil, err
			}
			list = append(list, first)
		}
		return collect(common, list), nil
	}
}

func collect(of sender, list []browser) map[sender][]string {
	all := make(map[sender][]string)
	for _, item := range list {
		all[of] = append(all[of], item.Camel+item.Plain)
	}
	return all
}

// plainList reads a JSON array of texts.
func plainList(corpus string) func(string, []byte) (map[sender][]string, error) {
	return func(file string, text []byte) (map[sender][]string, error) {
		var list []string
		if file != corpus {
			return nil, nil
		}
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		return map[sender][]string{common: list}, nil
	}
}

// fixtures reads the fixtures of Matomo's device detector. It counts what they call a library as a
// robot.
func fixtures(file string, text []byte) (map[sender][]string, error) {
	if !strings.Contains(file, "tests/fixtures/upstream/") || path.Ext(file) != ".yml" {
		return nil, nil
	}
	var list []struct {
		Agent  string `yaml:"user_agent"`
		Client any    `yaml:"client"`
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	all := make(map[sender][]string)
	for _, item := range list {
		of := person
		client, _ := item.Client.(map[string]any)
		if path.Base(file) == "bots.yml" || client["type"] == "library" {
			of = robot
		}
		all[of] = append(all[of], item.Agent)
	}
	return all, nil
}

// lines reads the fixtures of CrawlerDetect: an agent a line.
func lines(file string, text []byte) (map[sender][]string, error) {
	of, found := map[string]sender{"devices.txt": person, "crawlers.txt": robot}[path.Base(file)]
	if !found || !strings.Contains(file, "fixtures/user_agent/") {
		return nil, nil
	}
	return map[sender][]string{of: strings.Split(string(text), "\n")}, nil
}

// testsets reads the robots of Woothee's test sets. Its people are too few for the highest share.
func testsets(file string, text []byte) (map[sender][]string, error) {
	if !strings.Contains(file, "testsets/") || path.Base(file) == "blank.yaml" {
		return nil, nil
	}
	var list []struct {
		Target   string `yaml:"target"`
		Category string `yaml:"category"`
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	all := make(map[sender][]string)
	for _, item := range list {
		if item.Category == "crawler" {
			all[robot] = append(all[robot], item.Target)
		}
	}
	return all, nil
}
