package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	kafkaVersion   = "4.1.1"
	log4jVersion   = "2.25.3"
	minimumJava    = 17 // Kafka 4's broker.
	chdbVersion    = "26.7.3-stable.1"
	policyFile     = "/usr/sbin/policy-rc.d"
	kafkaDownload  = "Apache Kafka " + kafkaVersion
	libraryName    = "libchdb.so"
	downloadReport = 5 * time.Second
)

// chdbIntegrity holds the known hashes of the library package by platform. A platform that is not
// listed has only npm's own check against its registry.
func chdbIntegrity(platform string) string {
	return map[string]string{
		"linux-x64-gnu": "sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
	}[platform]
}

// need is a program that may be missing and the package that brings it.
type need struct {
	program string
	debian  string
	brew    string
}

// install fetches what the named servers need: programs through the system's package manager,
// Kafka's jars and the ClickHouse library through the clients of their registries. It also chooses
// Kafka's engine.
func (s *stack) install(ctx context.Context, names []string) error {
	var needs, forKafka []need
	for _, name := range names {
		switch name {
		case namePostgres:
			if _, err := postgresBin("initdb"); err != nil {
				needs = append(needs, need{"postgres", "postgresql", "postgresql@17"})
			}
		case nameRedis:
			needs = append(needs, absent(need{"redis-server", "redis-server", "redis"})...)
			if s.cfg.RedisClock != 0 && len(absent(need{"cc", "", ""})) > 0 {
				needs = append(needs, need{"cc", "gcc", "gcc"}, need{"the C library's headers", "libc6-dev", "gcc"})
			}
		case nameKafka:
			forKafka = s.kafkaNeeds(ctx)
		case nameClickHouse:
			if _, err := os.Stat(s.clickhouseLibrary()); err != nil {
				needs = append(needs, absent(need{"node", "nodejs", "node"}, need{"npm", "npm", "node"})...)
			}
		}
	}
	if err := s.installPackages(ctx, needs); err != nil {
		return err
	}
	if slices.Contains(names, nameKafka) {
		if err := s.chooseKafka(ctx, forKafka); err != nil {
			return err
		}
	}
	if slices.Contains(names, nameClickHouse) {
		return s.fetchClickHouse(ctx)
	}
	return nil
}

// absent returns the needs whose program is not in PATH.
func absent(needs ...need) []need {
	return slices.DeleteFunc(needs, func(n need) bool {
		_, err := exec.LookPath(n.program)
		return err == nil
	})
}

// kafkaNeeds lists the programs that Apache Kafka still needs. Maven only serves the download.
func (s *stack) kafkaNeeds(ctx context.Context) (needs []need) {
	if javaVersion(ctx) < minimumJava {
		needs = append(needs, need{"java", "default-jre-headless", "openjdk"})
	}
	if _, err := os.Stat(s.kafkaJars()); err != nil {
		needs = append(needs, absent(need{"mvn", "maven", "maven"})...)
	}
	return needs
}

// chooseKafka selects the engine and fetches it. A folder keeps the engine of its data unless the
// setting names another. kfake is selected automatically only if Java or Maven cannot be installed,
// and never in CI.
func (s *stack) chooseKafka(ctx context.Context, missing []need) error {
	engine := s.cfg.Kafka
	if engine == "auto" {
		engine = s.state.KafkaEngine
	}
	if engine == "" {
		engine = engineApache
		if err := s.installPackages(ctx, missing); err != nil {
			if s.cfg.Kafka != "auto" || os.Getenv("CI") == "true" {
				return err
			}
			s.say(nameKafka, "%v", err)
			s.say(nameKafka, "*** WARNING: no Apache Kafka. kfake, an emulated single broker, replaces it.       ***")
			s.say(nameKafka, "*** Results with it do not apply to Apache Kafka.                                ***")
			engine = engineKfake
		}
	} else if engine == engineApache {
		if err := s.installPackages(ctx, missing); err != nil {
			return err
		}
	}
	if engine == engineKfake && os.Getenv("CI") == "true" && s.cfg.Kafka == "auto" {
		return errors.New("kafka: this folder holds data of kfake but CI=true requires Apache Kafka: run down --purge first")
	}
	s.mu.Lock()
	s.state.KafkaEngine = engine
	err := s.saveState()
	s.mu.Unlock()
	if err != nil || engine == engineKfake {
		return err
	}
	return s.fetchKafka(ctx)
}

// javaVersion returns the major version of the java in PATH, 0 without a java.
func javaVersion(ctx context.Context) int {
	out, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput()
	if err != nil {
		return 0
	}
	return parseJavaVersion(string(out))
}

func parseJavaVersion(text string) int {
	match := regexp.MustCompile(`version "(\d+)`).FindStringSubmatch(text)
	if match == nil {
		return 0
	}
	version, err := strconv.Atoi(match[1])
	if err != nil {
		return 0
	}
	return version
}

// installPackages installs Debian packages as root. For other users it returns an error with the
// command.
func (s *stack) installPackages(ctx context.Context, needs []need) error {
	if len(needs) == 0 {
		return nil
	}
	programs, packages := make([]string, 0, len(needs)), make([]string, 0, len(needs))
	for _, n := range needs {
		programs = append(programs, n.program)
		name := n.debian
		if runtime.GOOS == "darwin" {
			name = n.brew
		}
		packages = append(packages, name)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	missing := strings.Join(programs, ", ")
	command := "apt-get update && sudo apt-get install -y --no-install-recommends " + strings.Join(packages, " ")
	if runtime.GOOS == "darwin" {
		return fmt.Errorf("missing: %s. Install with:\n  brew install %s", missing, strings.Join(packages, " "))
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("missing: %s. Install with:\n  sudo %s", missing, command)
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("missing: %s, and there is no apt-get; on Debian:\n  sudo %s", missing, command)
	}
	restore, err := keepServicesDown()
	if err != nil {
		return err
	}
	defer restore()
	// A failed update is not fatal: the lists on disk may suffice.
	if err := s.runStep(ctx, "install", "", "apt-get", "update"); err != nil {
		s.say("install", "%v", err)
	}
	args := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
	if err := s.runStep(ctx, "install", "", "apt-get", args...); err != nil {
		return fmt.Errorf("missing: %s: %w", missing, err)
	}
	return nil
}

// keepServicesDown stops packages from starting their own servers on their usual ports while they
// are installed. An existing policy of the machine is left alone.
func keepServicesDown() (restore func(), err error) {
	f, err := os.OpenFile(policyFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	err = errors.Join(err, f.Close())
	if err != nil {
		return nil, errors.Join(err, os.Remove(policyFile))
	}
	return func() { _ = os.Remove(policyFile) }, nil
}

// runStep runs one long command in dir and prints a progress line every few seconds. Its output is
// shown only if it fails.
func (s *stack) runStep(ctx context.Context, who, dir, program string, args ...string) error {
	line := program + " " + strings.Join(args, " ")
	s.say(who, "running %s", line)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(downloadReport)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.say(who, "still running %s", program)
			}
		}
	}()
	out, err := cmd.CombinedOutput()
	close(done)
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", line, err, lastLines(string(out), 15))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (s *stack) kafkaJars() string {
	return filepath.Join(s.cfg.Cache, "kafka-"+kafkaVersion+"-log4j-"+log4jVersion)
}

// kafkaProject makes Maven fetch the broker and the logging missing from its published artefact.
const kafkaProject = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>adnet.local</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>` + kafkaVersion + `</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>` + log4jVersion + `</version></dependency>
  </dependencies>
</project>
`

// fetchKafka copies the jars into the cache. The folder appears only when it is complete.
func (s *stack) fetchKafka(ctx context.Context) error {
	return s.fetch(s.kafkaJars(), func(fresh string) error {
		s.say(nameKafka, "downloading %s into %s", kafkaDownload, s.cfg.Cache)
		work, err := os.MkdirTemp(s.cfg.Cache, "maven-*")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(work) }()
		if err := os.WriteFile(filepath.Join(work, "pom.xml"), []byte(kafkaProject), 0o644); err != nil {
			return err
		}
		err = s.runStep(ctx, nameKafka, work, "mvn", "--batch-mode", "--strict-checksums", "--quiet",
			"dependency:copy-dependencies",
			"-DincludeScope=runtime", "-DoutputDirectory="+fresh)
		if err != nil {
			return fmt.Errorf("download %s: %w", kafkaDownload, err)
		}
		broker := filepath.Join(fresh, "kafka_2.13-"+kafkaVersion+".jar")
		if _, err := os.Stat(broker); err != nil {
			return fmt.Errorf("download %s: %w", kafkaDownload, err)
		}
		return nil
	})
}

// fetch fills a cache folder once. Others wait, and a partly filled folder is never visible.
func (s *stack) fetch(dir string, fill func(fresh string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(s.cfg.Cache, 0o755); err != nil {
		return err
	}
	unlock, err := lock(
		filepath.Join(s.cfg.Cache, "lock"),
		func() { s.say("install", "waiting for another download into %s", s.cfg.Cache) },
	)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	fresh := dir + ".new"
	if err := errors.Join(os.RemoveAll(fresh), os.MkdirAll(fresh, 0o755)); err != nil {
		return err
	}
	if err := fill(fresh); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	return os.Rename(fresh, dir)
}

// chdbPlatform returns the library package's name for this machine, "" if none exists.
func chdbPlatform() string {
	return map[string]string{
		"linux/amd64": "linux-x64-gnu", "linux/arm64": "linux-arm64-gnu",
		"darwin/amd64": "darwin-x64", "darwin/arm64": "darwin-arm64",
	}[runtime.GOOS+"/"+runtime.GOARCH]
}

func (s *stack) clickhouseLibrary() string {
	return filepath.Join(s.cfg.Cache, "chdb-"+chdbVersion+"-"+chdbPlatform(), libraryName)
}

// fetchClickHouse puts the library into the cache after checking its hash.
func (s *stack) fetchClickHouse(ctx context.Context) error {
	platform := chdbPlatform()
	if platform == "" {
		return fmt.Errorf("clickhouse: no library for %s/%s; use docker compose", runtime.GOOS, runtime.GOARCH)
	}
	return s.fetch(filepath.Dir(s.clickhouseLibrary()), func(fresh string) error {
		name := "@chdb/lib-" + platform + "@" + chdbVersion
		s.say(nameClickHouse, "downloading %s (about 180 MB) into %s", name, s.cfg.Cache)
		work, err := os.MkdirTemp(s.cfg.Cache, "npm-*")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(work) }()
		if err := s.runStep(ctx, nameClickHouse, work, "npm", "pack", "--silent", name); err != nil {
			return fmt.Errorf("download ClickHouse: %w", err)
		}
		archives, err := filepath.Glob(filepath.Join(work, "*.tgz"))
		if err != nil || len(archives) != 1 {
			return errors.Join(fmt.Errorf("download ClickHouse: npm pack left %d archives", len(archives)), err)
		}
		if want := chdbIntegrity(platform); want == "" {
			s.say(nameClickHouse, "no pinned hash for %s: relying on npm's check", platform)
		} else if err := checkIntegrity(archives[0], want); err != nil {
			return fmt.Errorf("download ClickHouse: %w", err)
		}
		s.say(nameClickHouse, "unpacking the library")
		return extract(archives[0], "package/"+libraryName, filepath.Join(fresh, libraryName))
	})
}

// checkIntegrity compares a file with a hash in npm's form, sha512-BASE64.
func checkIntegrity(name, want string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	hash := sha512.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(hash.Sum(nil)); got != want {
		return fmt.Errorf("%s has the hash %s, expected %s", filepath.Base(name), got, want)
	}
	return nil
}

// extract writes one member of a gzipped tar archive to a file.
func extract(archive, member, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s does not contain %s", filepath.Base(archive), member)
		}
		if err != nil {
			return err
		}
		if header.Name != member {
			continue
		}
		out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, files)
		return errors.Join(err, out.Close())
	}
}
