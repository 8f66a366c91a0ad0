// Package browser drives the console in a real Chromium, as a reader would: for the tests of its
// screens, and for the pictures of them that the documents show.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Agent is a reader's. A browser that says it is headless is invalid traffic, and no switch weakens
// that.
const Agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"

// ErrAbsent says that no Chromium is installed.
var ErrAbsent = errors.New("no chromium in PATH: install it by deploy/chromium.sh (Debian: apt-get install chromium)")

// Find is the path of the browser.
func Find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrAbsent
}

// Browser is a running Chromium.
type Browser struct {
	ctx  context.Context
	stop []context.CancelFunc
}

// Start runs the browser until Close.
func Start(ctx context.Context) (*Browser, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	options := append(
		chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserAgent(Agent),
		chromedp.Flag("lang", "en-US"),
	)
	if os.Geteuid() == 0 { // Chromium's sandbox does not run for root
		options = append(options, chromedp.NoSandbox)
	}
	allocated, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	made, stop := chromedp.NewContext(allocated)
	b := &Browser{ctx: made, stop: []context.CancelFunc{stop, stopAllocator}}
	if err := chromedp.Run(made); err != nil {
		b.Close()
		return nil, fmt.Errorf("chromium: %w", err)
	}
	return b, nil
}

// Close ends the browser.
func (b *Browser) Close() {
	for _, stop := range b.stop {
		stop()
	}
}

// Tab is one page, with cookies of its own, and what its console said.
type Tab struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex // guards what follows
	problems []string
	expected []*expectation
}

// expectation is a problem that a test brings about, or a reader's page has by design.
type expectation struct {
	of  *regexp.Regexp
	met bool
}

// Tab opens a page of its own. Close it.
func (b *Browser) Tab() (*Tab, error) {
	var opened target.ID
	err := chromedp.Run(b.ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		ctx = cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser)
		own, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx)
		if err != nil {
			return err
		}
		opened, err = target.CreateTarget("about:blank").WithBrowserContextID(own).WithNewWindow(true).Do(ctx)
		return err
	}))
	if err != nil {
		return nil, err
	}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithTargetID(opened))
	t := &Tab{ctx: ctx, cancel: cancel}
	chromedp.ListenTarget(ctx, t.listen)
	if err := chromedp.Run(ctx, log.Enable(), runtime.Enable()); err != nil {
		cancel()
		return nil, err
	}
	return t, nil
}

// listen keeps errors: of scripts, of loading (4xx included), and breaches of the policy.
func (t *Tab) listen(event any) {
	var problem string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			for _, arg := range e.Args {
				problem += string(arg.Value) + arg.Description + " "
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || strings.Contains(e.Entry.Text, "Content Security Policy") {
			problem = e.Entry.Text + " " + e.Entry.URL
		}
	case *target.EventAttachedToTarget:
		if e.TargetInfo.Type == "iframe" { // in a process of its own, so its console is, too
			go t.hear(e.TargetInfo.TargetID)
		}
	}
	if problem != "" {
		t.mu.Lock()
		t.problems = append(t.problems, problem)
		t.mu.Unlock()
	}
}

// hear has the tab hear what a frame of another origin complains about, from its beginning. A frame
// that is gone already has nothing more to say.
func (t *Tab) hear(frame target.ID) {
	ctx, cancel := chromedp.NewContext(t.ctx, chromedp.WithTargetID(frame))
	chromedp.ListenTarget(ctx, t.listen)
	if chromedp.Run(ctx, log.Enable(), runtime.Enable()) != nil {
		cancel()
	}
}

// Expect says that a problem with such a text will come, at least once.
func (t *Tab) Expect(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected = append(t.expected, &expectation{of: regexp.MustCompile(text)})
}

// Problems are what the page and its frames have complained about, but for what was expected.
func (t *Tab) Problems() (list []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.problems {
		known := false
		for _, e := range t.expected {
			if e.of.MatchString(p) {
				known, e.met = true, true
			}
		}
		if !known {
			list = append(list, p)
		}
	}
	return list
}

// Missed are the expected problems that did not come.
func (t *Tab) Missed() (list []string) {
	_ = t.Problems()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.expected {
		if !e.met {
			list = append(list, e.of.String())
		}
	}
	return list
}

// Close closes the page.
func (t *Tab) Close() { t.cancel() }

// Do runs actions, for a minute at most: a loaded machine is slow, a page that hangs has no end.
func (t *Tab) Do(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(t.ctx, time.Minute)
	defer cancel()
	for _, action := range actions {
		err := chromedp.Run(ctx, action)
		for tries := 0; err != nil && tries < 20 && strings.Contains(err.Error(), gone); tries++ {
			time.Sleep(100 * time.Millisecond)
			err = chromedp.Run(ctx, action)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gone is what an action fails with that came before the page took the place of another: it did
// nothing, so that it may be done again.
const gone = "Cannot find context with specified id"

// View is how a page is looked at.
type View struct {
	Width, Height int64
	Dark          bool
	Moving        bool // the reader did not ask for reduced motion
}

// Look sets the size and the colours.
func (t *Tab) Look(v View) error {
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	motion := "reduce"
	if v.Moving {
		motion = "no-preference"
	}
	return t.Do(
		emulation.SetDeviceMetricsOverride(v.Width, v.Height, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion},
		}),
	)
}

// settled is true when a screen shows its data, or why it has none.
const settled = `!!document.querySelector('main h1') && !document.querySelector('.skeleton') && (!document.querySelector('.plot') || !!document.querySelector('.plot canvas'))`

// Open goes to an address and waits until its screen has settled.
func (t *Tab) Open(address string) error {
	if err := t.Do(chromedp.Navigate(address)); err != nil {
		return err
	}
	return t.Settle()
}

// Settle waits until the screen has settled after an act.
func (t *Tab) Settle() error { return t.Await(settled) }

// Await waits until an expression of the page is true. The page may be replaced by another
// meanwhile.
func (t *Tab) Await(expression string) (err error) {
	for range 5 {
		err = t.Do(chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond)))
		if err == nil ||
			!strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context was destroyed") {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// Enter signs in to a demo account on the landing page.
func (t *Tab) Enter(base, as string) error {
	if err := t.Open(base + "/"); err != nil {
		return err
	}
	if err := t.Do(chromedp.Click(`[data-demo="`+as+`"]`, chromedp.ByQuery)); err != nil {
		return err
	}
	if err := t.Await(`location.pathname.includes('/console/')`); err != nil {
		return err
	}
	return t.Settle()
}

// Cover brings another tab of the window before the page, so that it is hidden, until the function
// that it gives is called.
func (t *Tab) Cover() (uncover func() error, err error) {
	var front target.ID
	own := chromedp.FromContext(t.ctx).Target.TargetID
	err = t.onBrowser(func(ctx context.Context) error {
		info, err := target.GetTargetInfo().WithTargetID(own).Do(ctx)
		if err != nil {
			return err
		}
		if front, err = target.CreateTarget("about:blank").WithBrowserContextID(info.BrowserContextID).Do(ctx); err !=
			nil {
			return err
		}
		return target.ActivateTarget(front).Do(ctx)
	})
	return func() error {
		return t.onBrowser(func(ctx context.Context) error { return target.CloseTarget(front).Do(ctx) })
	}, err
}

// onBrowser does what concerns the whole browser.
func (t *Tab) onBrowser(do func(ctx context.Context) error) error {
	return t.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		return do(cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser))
	}))
}

// Before runs a script in every document of the tab before its own.
func (t *Tab) Before(script string) error {
	return t.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
}

// Frame is the page's only frame of another origin, once it is there. It ends with its page. One
// that another takes the place of while it is attached to never answers, so it is given up.
func (t *Tab) Frame() (*Tab, error) {
	until := time.Now().Add(time.Minute)
	for {
		targets, err := chromedp.Targets(t.ctx)
		if err != nil {
			return nil, err
		}
		own := chromedp.FromContext(t.ctx).Target.TargetID
		for _, found := range targets {
			if found.Type == "iframe" && found.ParentFrameID == cdp.FrameID(own) {
				if frame := t.attach(found.TargetID); frame != nil {
					return frame, nil
				}
			}
		}
		if time.Now().After(until) {
			return nil, errors.New("the page has no frame of another origin")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// attach is the frame as a page of its own, nil when it does not answer in time.
func (t *Tab) attach(frame target.ID) *Tab {
	ctx, cancel := chromedp.NewContext(t.ctx, chromedp.WithTargetID(frame))
	f := &Tab{ctx: ctx, cancel: cancel}
	chromedp.ListenTarget(ctx, f.listen)
	late := time.AfterFunc(5*time.Second, cancel)
	err := chromedp.Run(ctx, log.Enable(), runtime.Enable())
	if !late.Stop() || err != nil {
		cancel()
		return nil
	}
	return f
}

// Accept answers every question of the page's scripts (confirm) by yes from now on.
func (t *Tab) Accept() error {
	chromedp.ListenTarget(t.ctx, func(event any) {
		if _, asks := event.(*page.EventJavascriptDialogOpening); asks {
			go func() { _ = t.Do(page.HandleJavaScriptDialog(true)) }()
		}
	})
	return t.Do(page.Enable())
}
