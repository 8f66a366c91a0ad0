// Command film records the placeholder video for previews of video ads: a few seconds of moving
// shapes in Chromium.
//
//	go run ./lab/browser/film
package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"adnet/lab/browser"
)

const file = "ingress/api/preview/media/film.webm"

// record plays six seconds on a canvas and returns them as WebM in base64.
const record = `new Promise((done) => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 480, height: 270 }), c = canvas.getContext('2d');
  const to = new MediaRecorder(canvas.captureStream(15), { mimeType: 'video/webm;codecs=vp8', videoBitsPerSecond: 200000 }), parts = [];
  to.ondataavailable = (e) => parts.push(e.data);
  to.onstop = () => { const r = new FileReader(); r.onload = () => done(r.result.split(',')[1]); r.readAsDataURL(new Blob(parts)); };
  const from = performance.now();
  const draw = () => {
    const t = (performance.now() - from) / 6000;
    c.fillStyle = '#e6e9ff'; c.fillRect(0, 0, 480, 270);
    c.fillStyle = '#ffd166'; c.beginPath(); c.arc(60 + 360 * t, 190 - 130 * Math.sin(Math.PI * t), 30, 0, 7); c.fill();
    c.fillStyle = '#2b3590'; c.fillRect(0, 210, 480, 60);
    if (t < 1) setTimeout(draw, 66); else to.stop();
  };
  to.start(); draw();
})`

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "film:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	b, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	tab, err := b.Tab()
	if err != nil {
		return err
	}
	defer tab.Close()
	var text string
	await := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	if err := tab.Do(chromedp.Evaluate(record, &text, await)); err != nil {
		return err
	}
	film, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes\n", file, len(film))
	return os.WriteFile(file, film, 0o644)
}
