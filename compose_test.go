package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"adnet/cmd"
)

// TestComposeAsksEveryRoleForItsHealth runs the line of the health check: the image has no shell and
// no curl, so it must be a command of the binary at the image's path.
func TestComposeAsksEveryRoleForItsHealth(t *testing.T) {
	compose, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile("deploy/docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"ingress", "consumers"} {
		line := "command: [" + role + "]\n  healthcheck: *healthcheck\n"
		if !strings.Contains(string(compose), line) {
			t.Errorf("the service %s has no health check", role)
		}
	}
	test := regexp.MustCompile(`(?m)^x-healthcheck: &healthcheck\n  test: \[CMD, (/\w+), (.+)\]$`).FindStringSubmatch(
		string(compose),
	)
	if test == nil {
		t.Fatal("docker-compose.yml has no command that checks the health")
	}
	if !strings.Contains(string(image), `ENTRYPOINT ["`+test[1]+`"]`) {
		t.Errorf("the image has no program %s", test[1])
	}
	t.Setenv("ADNET_ADMIN_ADDR", "0.0.0.0:1") // of no process
	var out bytes.Buffer
	status := cmd.Main(t.Context(), cmd.Invocation{Args: strings.Split(test[2], ", "), Stdout: &out, Stderr: &out})
	if status != 1 || !strings.Contains(out.String(), "no process answers") {
		t.Errorf("%v is not the probe: %d, %s", test[2], status, &out)
	}
}

// TestComposePassesEverySetting compares docker-compose.yml with the list of settings. A variable
// that compose does not pass would silently have no effect.
func TestComposePassesEverySetting(t *testing.T) {
	settings, err := os.ReadFile("docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	compose, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	part := func(anchor string) string {
		_, rest, found := strings.Cut(string(compose), "\n"+anchor+": &")
		if !found {
			t.Fatalf("docker-compose.yml has no part %s", anchor)
		}
		part, _, _ := strings.Cut(rest, "\n\n")
		return part
	}
	passed := map[string]string{
		"ingress":   part("x-addresses") + part("x-ingress-settings") + part("x-ingress"),
		"consumers": part("x-addresses") + part("x-consumers-settings") + part("x-consumers"),
	}
	row := regexp.MustCompile("(?m)^`(ADNET_[A-Z0-9_]+)` \\|.*$")
	rows, found := row.FindAllStringSubmatch(string(settings), -1), 0
	for _, r := range rows {
		cells := strings.Split(strings.ReplaceAll(r[0], `\|`, "/"), "|")
		commands := strings.Split(strings.ReplaceAll(cells[3], " ", ""), ",")
		for command, text := range passed {
			if !slices.Contains(commands, command) && !slices.Contains(commands, "all") {
				continue
			}
			found++
			if !regexp.MustCompile(`(?m)^ +` + r[1] + `:`).MatchString(text) {
				t.Errorf("docker-compose.yml does not pass %s: add it to x-%s-settings", r[1], command)
			}
		}
	}
	if found < 100 {
		t.Fatalf("only %d settings were found", found)
	}
}
