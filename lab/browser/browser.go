// Package browser drives the console in a real Chromium, for the tests of its screens and for the
// screenshots of the documents.
package browser

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Agent is the user agent of a reader's browser. Headless browsers are invalid traffic, and no
// setting changes that.
const Agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"

// ErrAbsent reports that no Chromium is installed.
var ErrAbsent = errors.New("no chromium in PATH: install it by deploy/chromium.sh (Debian: apt-get install chromium)")

// Find returns the path of the browser.
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
	created, stop := chromedp.NewContext(allocated)
	b := &Browser{ctx: created, stop: []context.CancelFunc{stop, stopAllocator}}
	if err := chromedp.Run(created); err != nil {
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

// Tab is one page with its own cookies and its console messages.
type Tab struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex // guards the fields below
	problems []string
	expected []*expectation
}

// expectation is a problem that a test provokes, or that a page has by design.
type expectation struct {
	of  *regexp.Regexp
	met bool
}

// Tab opens a new page. The caller closes it.
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

// listen records errors of scripts and of loading (4xx included), and violations of the content
// security policy.
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
		if e.TargetInfo.Type == "iframe" { // a separate process with its own console
			go t.hear(e.TargetInfo.TargetID)
		}
	}
	if problem != "" {
		t.mu.Lock()
		t.problems = append(t.problems, problem)
		t.mu.Unlock()
	}
}

// hear attaches the tab to the console of a cross-origin frame from its start. A frame that no
// longer exists is ignored.
func (t *Tab) hear(frame target.ID) {
	ctx, cancel := chromedp.NewContext(t.ctx, chromedp.WithTargetID(frame))
	chromedp.ListenTarget(ctx, t.listen)
	if chromedp.Run(ctx, log.Enable(), runtime.Enable()) != nil {
		cancel()
	}
}

// Expect declares that a problem with the text must occur at least once.
func (t *Tab) Expect(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected = append(t.expected, &expectation{of: regexp.MustCompile(text)})
}

// Problems returns the problems of the page and its frames, except for expected ones.
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

// Missed returns the expected problems that have not occurred.
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

// Do runs actions for at most a minute. The limit allows for a loaded machine and ends a hanging
// page.
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

// gone is the error of an action on a page that is being replaced. The action had no effect and may
// be repeated.
const gone = "Cannot find context with specified id"

// View holds the size and the preferences for viewing a page.
type View struct {
	Width, Height int64
	Dark          bool
	Moving        bool // without the preference for reduced motion
}

// Look sets the size and the colour scheme.
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

// settled is true when a screen shows its data, or the reason for its absence.
const settled = `!!document.querySelector('main h1') && !document.querySelector('.skeleton') && (!document.querySelector('.plot') || !!document.querySelector('.plot canvas'))`

// Open goes to an address and waits until its screen has settled.
func (t *Tab) Open(address string) error {
	if err := t.Do(chromedp.Navigate(address)); err != nil {
		return err
	}
	return t.Settle()
}

// Settle waits until the screen has settled after an action.
func (t *Tab) Settle() error { return t.Await(settled) }

// Await waits until an expression is true in the page. The page may be replaced meanwhile.
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

// Cover hides the page behind another tab of its window until the returned function is called.
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

// onBrowser runs an action on the whole browser.
func (t *Tab) onBrowser(do func(ctx context.Context) error) error {
	return t.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		return do(cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser))
	}))
}

// Before runs a script in every document of the tab before the document's own scripts.
func (t *Tab) Before(script string) error {
	return t.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
}

// Frame waits for the page's only cross-origin frame whose address has the suffix and returns it. It
// ends with its page. A frame that is replaced during the attachment never answers and is abandoned;
// that of the page before has another address.
func (t *Tab) Frame(suffix string) (*Tab, error) {
	until := time.Now().Add(time.Minute)
	for {
		targets, err := chromedp.Targets(t.ctx)
		if err != nil {
			return nil, err
		}
		own := chromedp.FromContext(t.ctx).Target.TargetID
		for _, found := range targets {
			if found.Type == "iframe" && found.ParentFrameID == cdp.FrameID(own) && strings.HasSuffix(found.URL, suffix) {
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

// attach returns the frame as a separate page, or nil if it does not answer in time.
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

// Reply is a reply of a test in place of the server.
type Reply struct {
	Status     int64
	Type, Body string
}

// Instead replies to the tab's requests of a pattern of addresses, in which * is any text, in place
// of the server. The server replies where answer returns nil. n counts the requests from 0.
func (t *Tab) Instead(pattern string, answer func(n int64) *Reply) error {
	var count atomic.Int64
	chromedp.ListenTarget(t.ctx, func(event any) {
		e, paused := event.(*fetch.EventRequestPaused)
		if !paused {
			return
		}
		n := count.Add(1) - 1
		go func() {
			r := answer(n)
			if r == nil {
				_ = t.Do(fetch.ContinueRequest(e.RequestID))
				return
			}
			_ = t.Do(fetch.FulfillRequest(e.RequestID, r.Status).
				WithResponseHeaders([]*fetch.HeaderEntry{{Name: "Content-Type", Value: r.Type}}).
				WithBody(base64.StdEncoding.EncodeToString([]byte(r.Body))))
		}()
	})
	return t.Do(fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: pattern}}))
}

// Accept confirms all later dialogs of the page's scripts.
func (t *Tab) Accept() error {
	chromedp.ListenTarget(t.ctx, func(event any) {
		if _, asks := event.(*page.EventJavascriptDialogOpening); asks {
			go func() { _ = t.Do(page.HandleJavaScriptDialog(true)) }()
		}
	})
	return t.Do(page.Enable())
}
