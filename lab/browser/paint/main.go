// Command paint measures the largest contentful paint of the console's main screens, with the CPU
// throttled four times and 10,000 campaigns in the account: `make paint`. It starts the binary
// named by its first argument in memory and prints a line for each screen. It is not a test,
// because times depend on the load of the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"golang.org/x/sync/errgroup"

	"adnet/cmd/load/visitor"
	"adnet/lab/browser"
)

const address = "127.0.0.1:8996"

// promised is the limit for a largest paint.
const promised = time.Second

var screens = []struct{ as, path string }{
	{"", "/"}, {"advertiser", "/console/overview"}, {"advertiser", "/console/campaigns"},
	{"advertiser", "/console/creatives"},
	{"advertiser", "/console/billing"}, {"publisher", "/console/publisher"}, {"admin", "/console/campaigns"},
	{"admin", "/console/network"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	campaigns := flag.Int("campaigns", 10_000, "campaigns of the advertiser")
	slower := flag.Float64("slower", 4, "slowdown factor of the processor")
	loads := flag.Int("loads", 5, "loads of each screen, each with an empty cache")
	latency := flag.Duration("latency", 0, "additional latency of each request, as over a network")
	flag.Parse()
	if err := run(ctx, *campaigns, *loads, slow{*slower, *latency}); err != nil {
		fmt.Fprintln(os.Stderr, "paint:", err)
		os.Exit(1)
	}
}

// slow describes the slower machine and network of the reader.
type slow struct {
	processor float64       // slowdown factor
	latency   time.Duration // of each request
}

// later delays every request of a page.
func (s slow) later(ctx context.Context) error {
	_, err := network.EmulateNetworkConditionsByRule(false, []*network.Conditions{
		{Latency: float64(s.latency.Milliseconds()), DownloadThroughput: -1, UploadThroughput: -1},
	}).Do(ctx)
	return err
}

func run(ctx context.Context, campaigns, loads int, than slow) error {
	base, stop, err := browser.Serve(
		ctx, flag.Arg(0), address, "--rate-open", "0", "--rate-stats", "0", "--rate-reads", "0", "--rate-writes", "0", "--campaigns", "0",
	)
	if err != nil {
		return err
	}
	defer stop()
	if err := fill(ctx, base, campaigns); err != nil {
		return err
	}
	b, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	fmt.Printf(
		"largest contentful paint, %d campaigns, processor %g times slower, requests %s later, %d loads, cache empty\n",
		campaigns, than.processor, than.latency, loads,
	)
	for _, s := range screens {
		took, err := measure(b, base, s.as, s.path, loads, than)
		if err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
		slices.Sort(took)
		verdict := "within"
		if took[len(took)/2] > promised {
			verdict = "beyond"
		}
		fmt.Printf(
			"%-11s %-22s median %4d ms, slowest %4d ms, %s %s\n", s.as, s.path, took[len(took)/2].Milliseconds(),
			took[len(took)-1].Milliseconds(), verdict, promised,
		)
	}
	return nil
}

// largest resolves to the time of the largest paint, in milliseconds since the start of the load,
// after a second without a larger one.
const largest = `new Promise((done) => {
	let at = 0, timer;
	const wait = () => { clearTimeout(timer); timer = setTimeout(() => done(at), 1000); };
	new PerformanceObserver((list) => { for (const e of list.getEntries()) at = e.startTime; wait(); }).observe({ type: 'largest-contentful-paint', buffered: true });
	wait();
})`

func measure(b *browser.Browser, base, as, path string, loads int, than slow) (took []time.Duration, err error) {
	t, err := b.Tab()
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := t.Look(browser.View{Width: 1280, Height: 860}); err != nil {
		return nil, err
	}
	if as != "" {
		if err := t.Enter(base, as); err != nil {
			return nil, err
		}
	}
	if err := t.Do(
		network.SetCacheDisabled(true), emulation.SetCPUThrottlingRate(than.processor), chromedp.ActionFunc(than.later),
	); err != nil {
		return nil, err
	}
	for range loads {
		var ms float64
		if err := t.Open(base + path); err != nil {
			return nil, fmt.Errorf("%w; console messages: %q", err, t.Problems())
		}
		if err := t.Do(chromedp.Evaluate(
			largest, &ms, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) },
		)); err != nil {
			return nil, err
		}
		took = append(took, time.Duration(ms*float64(time.Millisecond)))
	}
	return took, nil
}

// fill creates n campaigns of the demo's advertiser.
func fill(ctx context.Context, base string, n int) error {
	var login struct {
		Token string
		User  struct{ ID string }
	}
	as := visitor.Client{Base: visitor.Of(base), HTTP: visitor.NewHTTP(time.Minute)}
	post := func(ctx context.Context, path, bearer string, body visitor.Object, reply any) error {
		return as.Do(ctx, visitor.Request{
			Method: "POST", Path: path, Bearer: bearer, JSON: body, Want: visitor.Success,
		}, reply)
	}
	if err := post(ctx, "/api/auth/demo", "", visitor.Object{"as": "advertiser"}, &login); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range n {
		group.Go(func() error {
			return post(ctx, "/api/campaigns", login.Token, visitor.Object{
				"advertiser_id": login.User.ID, "headline": fmt.Sprintf("Lesson %d for curious beginners", i),
				"subtext": "Twelve short lessons, one every morning.", "cta_url": "https://lessons.shop.example/",
				"status": "draft",
			}, nil)
		})
	}
	return group.Wait()
}
