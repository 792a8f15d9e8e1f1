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
	dir := cacheDir(o)
	if o.NoCache || dir == "" {
		return ""
	}
	h := sha256.New()
	for _, s := range shaders.All() {
		fmt.Fprintf(h, "%d\n", len(s.Code))
		h.Write(s.Code)
	}
	return filepath.Join(dir, fmt.Sprintf("pipelines-%x-%x-%.8x", d.UUID, d.DriverVersion, h.Sum(nil)))
}

// cacheDir returns the cache folder, "" for a process without a home.
func cacheDir(o *Options) string {
	if o.CacheDir != "" {
		return o.CacheDir
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, "clearance")
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
