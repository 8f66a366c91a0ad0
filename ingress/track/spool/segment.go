package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"adnet/internal/errs"
)

// A segment is a file of frames: length of the payload (4 bytes), CRC-32C of the payload (4 bytes),
// payload. The payload is topic, key and value, the first two with their lengths in 2 bytes.
const (
	suffix      = ".seg"
	headerBytes = 8
	maxPayload  = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type segment struct {
	file  *os.File
	path  string
	bytes int64
	sync  syncer
}

// syncer flushes a file or folder to stable storage: (*os.File).Sync, or a test's disk.
type syncer func(*os.File) error

func createSegment(dir string, number uint64, sync syncer) (*segment, error) {
	path := filepath.Join(dir, fmt.Sprintf("%020d%s", number, suffix))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, err
	}
	// Without a sync of the folder, a crash could lose the file's name.
	if err := syncDir(dir, sync); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &segment{file: file, path: path, sync: sync}, nil
}

func syncDir(dir string, sync syncer) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(sync(d), d.Close())
}

func (s *segment) write(frames []byte) (written int64, err error) {
	n, err := s.file.Write(frames)
	s.bytes += int64(n)
	if err != nil {
		return int64(n), err
	}
	return int64(n), s.sync(s.file)
}

// checkSizes rejects records that do not fit a frame or that a reader would reject.
func checkSizes(topic string, key, value []byte) error {
	if len(topic) > math.MaxUint16 || len(key) > math.MaxUint16 || 4+len(topic)+len(key)+len(value) > maxPayload {
		return errs.New(errs.Unavailable, "the record is too large for the spool")
	}
	return nil
}

func appendFrame(b []byte, topic string, key, value []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, headerBytes)...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(topic)))
	b = append(b, topic...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(key)))
	b = append(b, key...)
	b = append(b, value...)
	payload := b[start+headerBytes:]
	binary.BigEndian.PutUint32(b[start:], uint32(len(payload)))
	binary.BigEndian.PutUint32(b[start+4:], crc32.Checksum(payload, castagnoli))
	return b
}

type record struct {
	topic      string
	key, value []byte
}

// readSegment reads the intact frames of a segment. whole is false if the segment contains anything
// else.
func readSegment(path string) (records []record, whole bool, size int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false, 0, err
	}
	size, whole = int64(len(data)), true
	for len(data) > 0 {
		payload, rest, ok := cutFrame(data)
		if !ok {
			return records, false, size, nil
		}
		r, ok := splitPayload(payload, binary.BigEndian.Uint32(data[4:]))
		if ok {
			records = append(records, r)
		}
		whole = whole && ok
		data = rest
	}
	return records, whole, size, nil
}

// countFrames returns the number of frames in a segment of an earlier process, or 0 if it cannot be
// read; draining reports the error.
func countFrames(path string) (n int64) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for ok := true; ; n++ {
		if _, data, ok = cutFrame(data); !ok {
			return n
		}
	}
}

// cutFrame takes the first frame off data. ok is false if its length is impossible.
func cutFrame(data []byte) (payload, rest []byte, ok bool) {
	if len(data) < headerBytes {
		return nil, nil, false
	}
	size := int(binary.BigEndian.Uint32(data))
	if size < 4 || size > maxPayload || size > len(data)-headerBytes {
		return nil, nil, false
	}
	return data[headerBytes : headerBytes+size], data[headerBytes+size:], true
}

func splitPayload(p []byte, sum uint32) (r record, ok bool) {
	if crc32.Checksum(p, castagnoli) != sum {
		return record{}, false
	}
	topicLen := int(binary.BigEndian.Uint16(p))
	if len(p) < 4+topicLen {
		return record{}, false
	}
	topic, rest := string(p[2:2+topicLen]), p[2+topicLen:]
	keyLen := int(binary.BigEndian.Uint16(rest))
	if len(rest) < 2+keyLen {
		return record{}, false
	}
	return record{topic: topic, key: rest[2 : 2+keyLen], value: rest[2+keyLen:]}, true
}

// findSegments lists the segments of an earlier process, oldest first, and the number after the
// newest.
func findSegments(dir string) (paths []string, bytes int64, next uint64, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, 0, err
	}
	for _, file := range files {
		name, is := strings.CutSuffix(file.Name(), suffix)
		number, err := strconv.ParseUint(name, 10, 64)
		if !is || err != nil {
			continue
		}
		info, err := file.Info()
		if err != nil {
			return nil, 0, 0, err
		}
		paths = append(paths, filepath.Join(dir, file.Name()))
		bytes += info.Size()
		next = max(next, number+1)
	}
	slices.Sort(paths)
	return paths, bytes, next, nil
}
