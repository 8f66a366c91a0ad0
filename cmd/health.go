package cmd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"adnet/cmd/operate"
	"adnet/ingress/api/oversee"
	"adnet/internal/kafka"
	"adnet/internal/process/link"
	"adnet/internal/process/roster"
	"adnet/internal/store/redis"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

// look reports the health of the servers, the log and the other nodes to administrators. A failed
// lookup is listed as a problem and does not hide other results.
func (r *ingressRole) look(ctx context.Context) oversee.Health {
	h := oversee.Health{
		Servers: []link.Seen{}, Nodes: []oversee.Node{}, Processes: []roster.Process{}, Jobs: []roster.Job{},
		Problems: []string{},
	}
	if !r.inputs.InMemory { // in memory, the servers are parts of this process
		for _, found := range operate.Examine(ctx, r.inputs.Servers) {
			h.Servers = append(h.Servers, found.Seen())
		}
	}
	if behind, partitions, err := r.behind(ctx); err != nil {
		h.Problems = append(h.Problems, "the settlement lag could not be determined")
		r.Log.Warn("health: the log", "error", err)
	} else {
		h.Settlement = oversee.Settlement{Behind: &behind, Partitions: partitions}
	}
	r.lookAtRoster(ctx, &h)
	journal, err := r.Rooms.Journal(ctx)
	if err != nil {
		h.Problems = append(h.Problems, "the nodes could not be listed")
		r.Log.Warn("health: the nodes", "error", err)
	}
	for _, w := range journal.Writers {
		h.Nodes = append(h.Nodes, oversee.Node{Name: w.Node, HeardAt: w.Seen.UTC(), Ended: w.Closed})
	}
	slices.SortFunc(
		h.Nodes,
		func(a, b oversee.Node) int { return cmp.Or(b.HeardAt.Compare(a.HeardAt), cmp.Compare(a.Name, b.Name)) },
	)
	return h
}

// lookAtRoster adds the status reports of the installation's processes.
func (r *ingressRole) lookAtRoster(ctx context.Context, h *oversee.Health) {
	reports := redis.NewRoster(r.Redis)
	processes, err := reports.Processes(ctx)
	runs, err2 := reports.Runs(ctx)
	if err = errors.Join(err, err2); err != nil {
		h.Problems = append(h.Problems, "the status reports of the processes could not be read")
		r.Log.Warn("health: the roster", "error", err)
		return
	}
	h.Processes, h.Jobs = processes, roster.Jobs(processes, runs)
	if !r.inputs.InMemory {
		return // Redis's findings contain the concerns
	}
	for i := range processes {
		for _, concern := range processes[i].Concerns(processes[i].SaidAt) {
			h.Problems = append(h.Problems, concern.What+": "+concern.Do)
		}
	}
}

// serves returns this node's own status report.
func (r *ingressRole) serves() *roster.Serving {
	s := &roster.Serving{
		Campaigns: r.catalog.Followed(), Deliverable: r.catalog.Snapshot().Len(), Addresses: r.http.Addresses(),
	}
	s.SpoolBytes, s.SpoolEvents = r.spool.Waiting()
	deciding, trial, stage := r.catalog.Model()
	s.Model, s.Trial, s.Stage = deciding, trial, string(stage)
	return s
}

// behindTimeout bounds the question for the ends of the log.
const behindTimeout = 5 * time.Second

// behind counts the records of the log that settlement has not applied. The ends of the log are
// read first, so that records applied meanwhile are not counted and cannot make the number
// negative.
func (r *ingressRole) behind(ctx context.Context) (records int64, partitions int, err error) {
	asked, cancel := context.WithTimeout(ctx, behindTimeout)
	defer cancel()
	spans, err := kafka.Spans(asked, r.Kafka, event.TopicEvents, kafka.Deps{Log: r.Log})
	if err != nil {
		return 0, 0, err
	}
	list := make([]stream.Partition, len(spans))
	for i, span := range spans {
		list[i] = span.Partition
	}
	applied, err := r.Stores.Ledger.Offsets(ctx, list)
	for _, span := range spans {
		records += span.Behind(applied[span.Partition])
	}
	return records, len(spans), err
}
