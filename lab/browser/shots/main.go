// Command shots takes the console screenshots of the documents with demo data: `make screenshots`.
// It starts the binary named by its first argument in memory, simulates readers, and writes the
// pictures into docs/images.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color/palette"
	"image/draw"
	"image/png"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"adnet/lab/browser"
)

// shot is one picture: a screen of one account.
type shot struct {
	name, as, path string
	view           browser.View
	act            string // script to run first
}

var (
	wide   = browser.View{Width: 1280, Height: 860}
	dark   = browser.View{Width: 1280, Height: 860, Dark: true}
	narrow = browser.View{Width: 390, Height: 860}
)

var shots = []shot{
	{name: "landing", path: "/", view: wide},
	{name: "overview", as: "advertiser", path: "/console/overview", view: wide},
	{name: "campaigns", as: "advertiser", path: "/console/campaigns?sort=spent", view: wide},
	{name: "campaign", as: "advertiser", path: "/console/campaigns", view: wide, act: openFirst},
	{name: "create", as: "advertiser", path: "/console/campaigns/new?step=creative", view: wide, act: typeCampaign},
	{name: "billing", as: "advertiser", path: "/console/billing", view: wide},
	{name: "publisher", as: "publisher", path: "/console/publisher", view: dark},
	{name: "integrate", as: "publisher", path: "/console/integrate", view: wide},
	{name: "keys", as: "publisher", path: "/console/keys", view: wide},
	{name: "review", as: "admin", path: "/console/review", view: wide},
	{name: "narrow", as: "advertiser", path: "/console/overview", view: narrow},
}

const openFirst = `document.querySelector('tbody a').click()`

const typeCampaign = `for (const [name, text] of Object.entries({headline: 'Chess lessons for curious beginners', subtext: 'Twelve short lessons, one every morning. The first three cost nothing.', cta_url: 'https://chess-shop.example/start', cta_label: 'Start lesson one'})) {
  const field = document.querySelector('input[name=' + name + ']');
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, text);
  field.dispatchEvent(new Event('input', {bubbles: true}));
}`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	base := flag.String("base", "", "base URL of a running adnet with its demo, instead of a binary to start")
	out := flag.String("out", "docs/images", "folder of the pictures")
	only := flag.String("only", "", "one picture")
	readers := flag.Int("readers", 300, "readers to simulate first")
	flag.Parse()
	if err := run(ctx, *base, *out, *only, *readers); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

const address = "127.0.0.1:8997"

func run(ctx context.Context, base, out, only string, readers int) error {
	if base == "" {
		at, stop, err := browser.Serve(ctx, flag.Arg(0), address)
		if err != nil {
			return err
		}
		defer stop()
		base = at
	}
	if err := browser.Traffic(ctx, base, readers); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // settlement follows
	b, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, s := range shots {
		if only != "" && s.name != only {
			continue
		}
		if err := take(b, s, base, filepath.Join(out, s.name+".png")); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func take(b *browser.Browser, s shot, base, file string) error {
	t, err := b.Tab()
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.Look(s.view); err != nil {
		return err
	}
	if s.as != "" {
		if err := t.Enter(base, s.as); err != nil {
			return err
		}
	}
	if err := t.Open(base + s.path); err != nil {
		return fmt.Errorf("%w; console messages: %q", err, t.Problems())
	}
	if s.act != "" {
		if err := t.Do(chromedp.Evaluate(s.act, nil), chromedp.Sleep(time.Second)); err != nil {
			return err
		}
		if err := t.Settle(); err != nil {
			return err
		}
	}
	var picture []byte
	if err := t.Do(chromedp.Sleep(300*time.Millisecond), chromedp.CaptureScreenshot(&picture)); err != nil {
		return err
	}
	if problems := t.Problems(); len(problems) > 0 {
		fmt.Printf("%s: console messages: %q\n", s.name, problems)
	}
	small, err := smaller(picture)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d kB\n", file, len(small)/1000)
	return os.WriteFile(file, small, 0o644)
}

// smaller returns the picture with its own palette if that takes fewer bytes.
func smaller(picture []byte) ([]byte, error) {
	if len(picture) < 150_000 {
		return picture, nil
	}
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	few := image.NewPaletted(full.Bounds(), palette.WebSafe)
	draw.FloydSteinberg.Draw(few, full.Bounds(), full, full.Bounds().Min)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few)
	if err != nil || out.Len() > len(picture) {
		return picture, err
	}
	return out.Bytes(), nil
}
