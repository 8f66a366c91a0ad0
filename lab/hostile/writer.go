package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"adnet/cmd/load/visitor"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
	"adnet/lab/process"
	"adnet/lab/product"
	"adnet/lab/site"
	"adnet/schemas/event"
)

// writer is an attack with write access to Redis and Kafka, and to nothing else. It has no keys of
// the installation, so it seals by keys of its own, or repeats what nodes sealed.
type writer struct {
	s         *suite
	owner     person // an advertiser with writerPaid
	campaign  string // its only one
	publisher person // shows it
	ring      *token.Keyring
	loot      writerReport
}

// writerReport is the part of the report about the writer to Redis and Kafka.
type writerReport struct {
	Campaigns int   `json:"forged_campaigns"`
	Shown     int64 `json:"forged_campaigns_shown"`
	Messages  int   `json:"forged_counts"`
	Refused   int   `json:"requests_refused"` // of the publisher, after forged counts
	Free      int64 `json:"ads_that_nobody_pays"`
	Clicks    int64 `json:"charged_clicks_of_an_address"` // whose counts the writer removes
	Charged   int64 `json:"charged_micros"`

	Records  int   `json:"forged_records"`
	Repeated int   `json:"repeated_records"`
	Requests int64 `json:"requests_changed"` // in the publisher's statistics
	Causes   int64 `json:"causes_changed"`   // in the advertiser's diagnosis
	Moved    int64 `json:"charges_moved_micros"`
	Dropped  int64 `json:"records_dropped"`
}

// What the writer does, and what it may change.
const (
	writerPaid    = 1  // USD, the balance of the advertiser
	writerBid     = 20 // USD a thousand ads, so 50 ads empty the balance
	writerWord    = "zqwriterqz"
	writerAds     = 20  // shown before the writer begins
	writerAsks    = 300 // for ads above the balance
	writerCounts  = 200 // forged messages of each exchange
	writerRecords = 1_000
	writerClicks  = 14
)

// write plays the writer.
func (s *suite) write(ctx context.Context) error {
	s.say("a writer to Redis and Kafka")
	v := &writer{s: s}
	s.report.Writer = &v.loot
	for _, act := range []func(context.Context) error{v.prepare, v.kafka, v.campaigns, v.counts, v.rooms, v.clicks} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	v.judge()
	return ctx.Err()
}

// prepare shows ads of a new advertiser at a new publisher, and waits for their statistics.
func (v *writer) prepare(ctx context.Context) (err error) {
	w := v.s.world
	if v.ring, err = site.Ring(product.Key()); err != nil {
		return err
	}
	if v.publisher, err = w.publisher(ctx); err != nil {
		return err
	}
	if v.owner, err = w.register(ctx); err != nil {
		return err
	}
	if err := w.pay(ctx, v.owner.id, writerPaid); err != nil {
		return err
	}
	if v.campaign, err = w.campaign(ctx, v.owner, object{
		"headline": "Written by its owner", "cta_url": approvedPage, "billing_model": "cpm", "bid_amount": writerBid,
		"target_intent_tokens": []string{writerWord}, "daily_budget": 100, "total_budget": 100,
	}); err != nil {
		return err
	}
	shown := 0
	if err := w.eventually(ctx, func() (bool, error) {
		for shown < writerAds {
			_, ad, err := v.show(ctx)
			if ad == nil {
				return false, err
			}
			shown++
		}
		return true, nil
	}); err != nil {
		return fmt.Errorf("a writer's campaign shows no ads: %w", err)
	}
	return w.eventually(ctx, func() (bool, error) {
		now, err := v.numbers(ctx)
		return now.requests >= writerAds && now.charged >= writerAds*writerBid*1_000, err
	})
}

// show requests an ad for the publisher and shows it.
func (v *writer) show(ctx context.Context) (status int, ad object, err error) {
	from := visitor.Address(uint32(time.Now().UnixNano()))
	status, _, text, err := v.s.world.send(ctx, request{
		Method: "POST", Path: "/v1/ad-request", Bearer: v.publisher.key, From: from,
		JSON: object{"context": writerWord},
	})
	if ad = adOf(text); ad == nil {
		return status, nil, err
	}
	_, _, _, err = v.s.world.send(ctx, request{Method: "GET", Path: ad.Text("impression_url"), From: from})
	return status, ad, err
}

// numbers are what the owners read, and the charges.
type numbers struct{ requests, causes, charged int64 }

func (v *writer) numbers(ctx context.Context) (n numbers, err error) {
	w := v.s.world
	stats, err := w.call(ctx, request{
		Method: "GET", Path: "/api/stats/requests", Bearer: v.publisher.bearer, Want: http.StatusOK,
	})
	if err != nil {
		return n, err
	}
	n.requests = int64(stats.Number("requests"))
	diagnosis, err := w.call(ctx, request{
		Method: "GET", Path: "/api/campaigns/" + v.campaign + "/diagnose", Bearer: v.owner.bearer, Want: http.StatusOK,
	})
	if err != nil {
		return n, err
	}
	causes, _ := diagnosis["causes"].([]any)
	for _, item := range causes {
		cause, _ := item.(map[string]any)
		if object(cause).Text("cause") != "ok" {
			n.causes += int64(object(cause).Number("count"))
		}
	}
	n.charged, err = v.s.sum(ctx, `SELECT toInt64(sum(charge)) FROM EVENTS WHERE campaign_id = ?`, v.campaign)
	return n, err
}

// kafka writes forged outcomes, notices and events, and repeats genuine records. Afterwards the
// owners must read what they read before.
func (v *writer) kafka(ctx context.Context) error {
	before, err := v.numbers(ctx)
	if err != nil {
		return err
	}
	genuine, err := v.genuine(ctx)
	if err != nil {
		return err
	}
	dropped, err := v.dropped(ctx)
	if err != nil {
		return err
	}
	forged, err := v.forged()
	if err != nil {
		return err
	}
	v.loot.Records, v.loot.Repeated = len(forged), len(genuine)
	if err := v.s.world.broker.ProduceSync(ctx, append(forged, genuine...)...).FirstErr(); err != nil {
		return err
	}
	sealed := int64(2 * writerRecords) // outcomes and notices
	waited := v.s.world.eventually(ctx, func() (bool, error) {
		now, err := v.dropped(ctx)
		v.loot.Dropped = now - dropped
		return v.loot.Dropped >= sealed, err
	})
	_ = schedule.Pause(ctx, 2*time.Second) // for what is not dropped
	after, err := v.numbers(ctx)
	if err != nil {
		return err
	}
	v.loot.Requests, v.loot.Causes = after.requests-before.requests, after.causes-before.causes
	v.loot.Moved = after.charged - before.charged
	if waited != nil {
		v.s.breach("a writer to Kafka: %d of %d forged records were dropped", v.loot.Dropped, sealed)
	}
	return ctx.Err()
}

// dropped returns the number of records that the archive dropped as forged.
func (v *writer) dropped(ctx context.Context) (sum int64, err error) {
	for _, topic := range []string{"auctions", "notices"} {
		n, err := process.Metric(ctx, v.s.world.consumers.admin, "adnet_archive_"+topic+"_forged_total")
		if err != nil {
			return 0, err
		}
		sum += int64(n)
	}
	return sum, nil
}

// forged returns outcomes that the campaign lost by a cap, notices of its bids, and impressions and
// clicks of it without a token.
func (v *writer) forged() (records []*kgo.Record, err error) {
	campaign, owner := uuid.MustParse(v.campaign), uuid.MustParse(v.owner.id)
	publisher := uuid.MustParse(v.publisher.developer)
	now := time.Now().UnixMicro()
	for n := range writerRecords {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		outcome, err := proto.Marshal(&event.Auction{
			AuctionId: id[:], AtUs: now, DeveloperId: publisher[:], Reason: "outbid",
			Placement:  &event.Placement{Format: "embed", IntegrationMethod: "rest", HostApp: "forged"},
			Candidates: []*event.Candidate{{CampaignId: campaign[:], EcpmMicros: 1, Reason: "frequency_capped"}},
		})
		if err != nil {
			return nil, err
		}
		notice, err := proto.Marshal(&event.Notice{
			AuctionId: id[:], AtUs: now, DeveloperId: publisher[:], CampaignId: campaign[:], Kind: event.Notice_LOSS,
			Proof: event.Proof_SIGNED,
		})
		if err != nil {
			return nil, err
		}
		records = append(records,
			v.record(event.TopicAuctions, id, v.ring.Outcomes().Close(outcome, 0)),
			v.record(event.TopicNotices, id, v.ring.Notices().Close(notice, 0)))
		if n%10 > 0 {
			continue
		}
		mine, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		act, err := proto.Marshal(&event.Event{
			EventId: mine[:], Type: event.Type_IMPRESSION, Proof: event.Proof_SIGNED, ReceivedAtUs: now,
			AuctionId: id[:], CampaignId: campaign[:], AdvertiserId: owner[:], DeveloperId: publisher[:],
			PriceMicros: 900_000, BillingModel: event.BillingModel_CPM, Token: []byte("forged"), FromReader: true,
		})
		if err != nil {
			return nil, err
		}
		records = append(records, v.record(event.TopicEvents, id, act))
	}
	return records, nil
}

func (v *writer) record(topic string, auction uuid.UUID, value []byte) *kgo.Record {
	return &kgo.Record{Topic: v.s.world.Prefix + "." + topic, Key: auction[:], Value: value}
}

// genuine returns records of the publisher's auctions and events, as nodes wrote them.
func (v *writer) genuine(ctx context.Context) (records []*kgo.Record, err error) {
	w := v.s.world
	reader, err := kgo.NewClient(
		kgo.SeedBrokers(w.Kafka), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeTopics(w.Prefix+"."+event.TopicAuctions, w.Prefix+"."+event.TopicEvents),
	)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	publisher := uuid.MustParse(v.publisher.developer)
	part, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for len(records) < 2*writerAds && part.Err() == nil {
		fetches := reader.PollFetches(part)
		fetches.EachRecord(func(r *kgo.Record) {
			if strings.Contains(string(r.Value), string(publisher[:])) {
				records = append(records, &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value})
			}
		})
	}
	if len(records) < 2*writerAds {
		return nil, fmt.Errorf("a writer to Kafka found %d of %d records", len(records), 2*writerAds)
	}
	return records, ctx.Err()
}

var versionMember = regexp.MustCompile(`"config_version":(\d+)`)

// campaigns replaces the text of the campaign in Redis, with the seal of the old text and with one
// of its own, as a newer version.
func (v *writer) campaigns(ctx context.Context) error {
	w := v.s.world
	key := w.Prefix + ":{catalog}:objects"
	object, err := w.Cache.HGet(ctx, key, v.campaign).Result()
	if err != nil {
		return err
	}
	found := versionMember.FindStringSubmatch(object)
	if found == nil || !strings.Contains(object, "Written by its owner") {
		return fmt.Errorf("the form of a campaign in Redis is another: %s", object)
	}
	version, err := strconv.Atoi(found[1])
	if err != nil {
		return err
	}
	for n := 1; n <= 2; n++ {
		forged := versionMember.ReplaceAllString(object, fmt.Sprintf(`"config_version":%d`, version+n))
		forged = strings.Replace(forged, "Written by its owner", "Written by a stranger", 1)
		if n == 2 {
			if forged, err = v.seal(forged); err != nil {
				return err
			}
		}
		pipe := w.Cache.TxPipeline()
		pipe.HSet(ctx, key, v.campaign, forged)
		pipe.ZAdd(ctx, w.Prefix+":{catalog}:versions", redis.Z{Score: float64(version + n), Member: v.campaign})
		pipe.Publish(ctx, w.Prefix+":{catalog}:changes", `{"campaign":`+forged+`}`)
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		v.loot.Campaigns++
		_ = schedule.Pause(ctx, time.Second)
		for range 5 {
			_, ad, err := v.show(ctx)
			if err != nil {
				return err
			}
			if strings.Contains(ad.Text("headline"), "stranger") {
				v.loot.Shown++
			}
		}
	}
	return ctx.Err()
}

// seal replaces the seal of a campaign by one of the writer's keys.
func (v *writer) seal(object string) (string, error) {
	seal, err := v.ring.Seal()
	if err != nil {
		return "", err
	}
	record, _, _ := strings.Cut(object, `,"seal":"`)
	return record + `,"seal":"` + string(seal.Append(nil, []byte(record))) + `"}`, nil
}

// counts repeats the messages of the node under other names. The publisher must still get ads.
func (v *writer) counts(ctx context.Context) error {
	w := v.s.world
	if _, err := w.Keys(ctx, func(key string) error {
		if !strings.HasSuffix(key, ":exchange") {
			return nil
		}
		messages, err := w.Cache.XRevRangeN(ctx, key, "+", "-", 5).Result()
		if err != nil {
			return err
		}
		pipe := w.Cache.Pipeline()
		for n := range writerCounts {
			if len(messages) == 0 {
				return nil
			}
			values := messages[n%len(messages)].Values
			values["n"] = "writer" + strconv.Itoa(n)
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: values})
			v.loot.Messages++
		}
		_, err = pipe.Exec(ctx)
		return err
	}); err != nil {
		return err
	}
	_ = schedule.Pause(ctx, time.Second)
	for range 20 {
		status, _, err := v.show(ctx)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			v.loot.Refused++
		}
	}
	return ctx.Err()
}

// roomAmounts are the members of a room that bound what a campaign may spend.
var roomAmounts = regexp.MustCompile(`"(daily|total|balance)":\d+`)

// rooms raises the budgets and the balance of the campaign in Redis and requests ads for more than
// the advertiser paid. What is shown above that is free.
func (v *writer) rooms(ctx context.Context) error {
	w := v.s.world
	key := w.Prefix + ":{catalog}:rooms"
	stored, err := w.Cache.HGet(ctx, key, v.campaign).Result()
	if err != nil {
		return err
	}
	version, room, _ := strings.Cut(stored, "|")
	number, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return err
	}
	number += 1_000
	room = roomAmounts.ReplaceAllString(room, `"$1":900000000`)
	room = strings.Replace(room, `"v":`+version, `"v":`+strconv.FormatInt(number, 10), 1)
	pipe := w.Cache.TxPipeline()
	pipe.HSet(ctx, key, v.campaign, fmt.Sprintf("%d|%s", number, room))
	pipe.Publish(ctx, w.Prefix+":{catalog}:changes", `{"rooms":[`+room+`]}`)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	_ = schedule.Pause(ctx, 500*time.Millisecond)
	for range writerAsks {
		if _, _, err := v.show(ctx); err != nil {
			return err
		}
	}
	var shown int64
	err = w.eventually(ctx, func() (bool, error) {
		before := shown
		shown, err = v.s.sum(
			ctx, `SELECT toInt64(count()) FROM EVENTS WHERE campaign_id = ? AND type = 'impression'`, v.campaign,
		)
		return err != nil || shown > 0 && shown == before, err
	})
	if err != nil {
		return err
	}
	if v.loot.Charged, err = v.s.sum(
		ctx, `SELECT toInt64(sum(charge)) FROM EVENTS WHERE campaign_id = ?`, v.campaign,
	); err != nil {
		return err
	}
	v.loot.Free = max(0, shown-v.loot.Charged/(writerBid*1_000))
	// The genuine room is never newer than the forged one.
	return w.Cache.HDel(ctx, key, v.campaign).Err()
}

// clicks clicks more often than the rule of an address allows and removes the counts each time.
func (v *writer) clicks(ctx context.Context) error {
	w := v.s.world
	from := visitor.Address(uint32(time.Now().UnixNano()))
	links := make([]string, 0, writerClicks)
	for range writerClicks {
		ad, err := w.ad(ctx, v.publisher, "zqcpcqz", from)
		if err != nil {
			continue // counted below
		}
		seen := request{Method: "GET", Path: ad.Text("impression_url"), From: from}
		if _, _, _, err := w.send(ctx, seen); err != nil {
			return err
		}
		links = append(links, ad.Text("click_url"))
	}
	_ = schedule.Pause(ctx, 400*time.Millisecond) // no person is faster
	for _, link := range links {
		if _, _, _, err := w.send(ctx, request{Method: "GET", Path: link, From: from}); err != nil {
			return err
		}
		_, err := w.Keys(ctx, func(key string) error {
			if !strings.Contains(key, ":clicks:") {
				return nil
			}
			return w.Cache.Del(ctx, key).Err()
		})
		if err != nil {
			return err
		}
	}
	_ = schedule.Pause(ctx, 3*time.Second) // settled and archived
	var err error
	v.loot.Clicks, err = v.s.sum(ctx, `SELECT toInt64(countIf(charge > 0)) FROM EVENTS
WHERE campaign_id = ? AND type = 'click' AND developer_id = ?`, w.cpc, v.publisher.developer)
	return err
}

// judge compares what the writer changed with what it may change: SECURITY.md has the list.
func (v *writer) judge() {
	s, l := v.s, &v.loot
	if l.Shown > 0 {
		s.breach("a writer to Redis changed the text of %d ads", l.Shown)
	}
	if l.Refused > 0 {
		s.breach("a writer to Redis made %d requests of a publisher refused by forged counts", l.Refused)
	}
	// A node may take a campaign's whole room once more than Redis permits (SECURITY.md).
	if l.Free > writerPaid*1_000/writerBid {
		s.breach("a writer to Redis had %d ads shown that nobody pays", l.Free)
	}
	// An address has four clicks of a campaign's day.
	if l.Clicks > 4 {
		s.breach("a writer to Redis had %d clicks of an address charged", l.Clicks)
	}
	if l.Charged > writerPaid*1_000_000 {
		s.breach("a writer to Redis made an advertiser pay %d micro-USD, above its balance", l.Charged)
	}
	if l.Requests != 0 || l.Causes != 0 {
		s.breach(
			"a writer to Kafka changed statistics by %d requests and a diagnosis by %d causes", l.Requests, l.Causes,
		)
	}
	if l.Moved != 0 {
		s.breach("a writer to Kafka moved %d micro-USD of charges", l.Moved)
	}
	if l.Campaigns == 0 || l.Messages == 0 || l.Records == 0 || l.Repeated == 0 {
		s.breach(
			"a writer with %d campaigns, %d messages, %d and %d records, so this run does not test it",
			l.Campaigns, l.Messages, l.Records, l.Repeated,
		)
	}
	s.say("writer: %+v", *l)
}
