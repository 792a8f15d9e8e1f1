package engine

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"clearance/engine/internal/vk"
	"clearance/shaders"
)

// cacheFile returns the file in which the compiled shaders of a device are kept, one for each device, driver and
// version of the shaders; "" means none. Package vk checks its contents when it reads it.
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
	for _, code := range shaders.All() {
		fmt.Fprintf(h, "%d\n", len(code))
		h.Write(code)
	}
	return filepath.Join(dir, fmt.Sprintf("pipelines-%x-%x-%.8x", d.UUID, d.DriverVersion, h.Sum(nil)))
}

// save writes the cache file if there are new compiled shaders.
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
