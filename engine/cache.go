package engine

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"clearance/engine/internal/vk"
	"clearance/shaders"
)

// cacheFile is where the compiled shaders of a device are kept: one file for each device,
// driver and version of the shaders, "" for nowhere. What is in it is checked when it
// is read, see package vk.
func cacheFile(o *Options, d *vk.DeviceInfo) string {
	if o.NoCache {
		return ""
	}
	dir := o.CacheDir
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "" // a process without a home
		}
		dir = filepath.Join(user, "clearance")
	}
	h := sha256.New()
	for _, code := range [][]byte{shaders.Place, shaders.GJK, shaders.RTR, shaders.Certify, shaders.Depth, shaders.Surround, shaders.SelfTest} {
		fmt.Fprintf(h, "%d\n", len(code))
		h.Write(code)
	}
	return filepath.Join(dir, fmt.Sprintf("pipelines-%x-%x-%.8x", d.UUID, d.DriverVersion, h.Sum(nil)))
}

// save writes the compiled shaders to the cache, if there are new ones.
func (b *Backend) save() error {
	b.pipelines.mu.Lock()
	defer b.pipelines.mu.Unlock()
	if !b.pipelines.fresh {
		return nil
	}
	if err := b.device.SaveCache(); err != nil {
		return fmt.Errorf("engine: %w; set CacheDir to a folder that can be written, or NoCache", err)
	}
	b.pipelines.fresh = false
	return nil
}
