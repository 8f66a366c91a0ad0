package markup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const clientDir = "testdata/vastclient"

// vastClient installs the pinned client once per lock file, outside of the tree, and returns its
// folder.
func vastClient(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is needed to parse VAST with the official client: install Node.js 20 or newer", tool)
			}
			t.Skipf("%s is not installed: VAST is not parsed with the official client", tool)
		}
	}
	files := map[string][]byte{}
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json", "parse.mjs"} {
		content, err := os.ReadFile(filepath.Join(clientDir, name))
		require.NoError(t, err)
		files[name] = content
		sum.Write(content)
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "adnet", "vast-client-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if _, err := os.Stat(filepath.Join(dir, "done")); err == nil {
		return dir
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	out, err := install.CombinedOutput()
	require.NoError(t, err, "npm ci of %s: %s", clientDir, out)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "done"), nil, 0o644))
	return dir
}

// understood is the client's reading of a document.
type understood struct {
	Faults  []any
	Version string
	Ads     []struct {
		ID, Title, AdServingID string
		ImpressionURLTemplates []struct{ URL string }
		ErrorURLTemplates      []string
		Creatives              []struct {
			Type       string
			Duration   float64
			SkipDelay  *float64
			MediaFiles []struct {
				FileURL, MimeType string
				Width, Height     int
			}
			VideoClickThroughURLTemplate struct{ URL string }
			TrackingEvents               map[string][]string
			UniversalAdIDs               []struct{ IDRegistry, Value string }
		}
	}
}

// An independent client reads our documents correctly, whatever their texts.
func TestVASTWithTheDailymotionClient(t *testing.T) {
	dir := vastClient(t)
	type document struct {
		*Ad
		version Version
	}
	var ads []document
	for version := VAST20; version <= VAST42; version++ {
		ads = append(ads, document{example(), version})
		for _, s := range nasty {
			ads = append(ads, document{hostile("ad " + s), version})
		}
	}
	var in bytes.Buffer
	for _, ad := range ads {
		r := VideoRequest{Skippable: true, Seconds: 15, W: 640, H: 480, Version: ad.version}
		line, err := json.Marshal(string(r.Append(nil, ad.Ad)))
		require.NoError(t, err)
		in.Write(append(line, '\n'))
	}
	parse := exec.CommandContext(t.Context(), "node", "parse.mjs")
	parse.Dir, parse.Stdin, parse.Stderr = dir, &in, os.Stderr
	out, err := parse.Output()
	require.NoError(t, err)
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for i, ad := range ads {
		require.True(t, lines.Scan(), "%d of %d documents were read", i, len(ads))
		var got understood
		require.NoError(t, json.Unmarshal(lines.Bytes(), &got))
		require.Empty(t, got.Faults, ad.Headline)
		require.Equal(t, ad.version.String(), got.Version)
		require.Len(t, got.Ads, 1)
		require.Len(t, got.Ads[0].Creatives, 1)
		linear := got.Ads[0].Creatives[0]
		require.Equal(t, "linear", linear.Type)
		require.InDelta(t, 15.0, linear.Duration, 0)
		if ad.version >= VAST30 {
			require.InDelta(t, 3.0, *linear.SkipDelay, 0)
		} else {
			require.Negative(t, *linear.SkipDelay, "cannot be skipped")
		}
		require.Equal(t, link(ad.ImpressionURL), got.Ads[0].ImpressionURLTemplates[0].URL)
		require.Equal(t, link(ad.ErrorURL)+"[ERRORCODE]", got.Ads[0].ErrorURLTemplates[0])
		require.Equal(t, link(ad.MediaURL), linear.MediaFiles[0].FileURL)
		require.Equal(t, "video/mp4", linear.MediaFiles[0].MimeType)
		require.Equal(t, 640, linear.MediaFiles[0].Width)
		require.Equal(t, link(ad.ClickURL), linear.VideoClickThroughURLTemplate.URL)
		if ad.Headline == example().Headline {
			require.Equal(t, ad.Headline, got.Ads[0].Title)
			require.Equal(t, []string{ad.CompleteURL}, linear.TrackingEvents["complete"])
			if ad.version >= VAST30 {
				require.Equal(t, []string{ad.SkipURL}, linear.TrackingEvents["skip"])
			}
			if ad.version >= VAST40 {
				require.Equal(t, ad.CampaignID, linear.UniversalAdIDs[0].Value)
			}
		}
	}
	require.False(t, lines.Scan())
}
