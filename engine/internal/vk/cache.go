//go:build cgo && !(386 || arm || mips || mipsle)

package vk

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
)

// A cache file is a magic string, the identity of device and driver, a SHA-256 of all but
// itself, and the driver's bytes. The sum is ours because drivers trust their bytes beyond
// Vulkan's own header: a damaged file can crash them.
const cacheMagic = "clearance pipeline cache 1\n"

// cacheIdentity changes whenever the driver would have no use for the bytes.
func cacheIdentity(d *DeviceInfo) []byte {
	b := make([]byte, 0, 44)
	for _, v := range []uint32{d.VendorID, d.DeviceID, d.DriverVersion} {
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	b = append(b, d.CacheUUID[:]...)
	return append(b, d.UUID[:]...)
}

func encodeCache(d *DeviceInfo, data []byte) []byte {
	out := append([]byte(cacheMagic), cacheIdentity(d)...)
	h := sha256.New()
	h.Write(out)
	h.Write(data)
	out = h.Sum(out)
	return append(out, data...)
}

// decodeCache returns the driver's bytes, nil unless the file is whole and of this device.
func decodeCache(file []byte, d *DeviceInfo) []byte {
	head := append([]byte(cacheMagic), cacheIdentity(d)...)
	rest, ok := bytes.CutPrefix(file, head)
	if !ok || len(rest) < sha256.Size {
		return nil
	}
	sum, data := rest[:sha256.Size], rest[sha256.Size:]
	h := sha256.New()
	h.Write(head)
	h.Write(data)
	if !bytes.Equal(h.Sum(nil), sum) {
		return nil
	}
	return data
}

// writeCacheFile replaces the file in one step, unless it holds the same already.
func writeCacheFile(path string, d *DeviceInfo, data []byte) error {
	file := encodeCache(d, data)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, file) {
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(file)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
