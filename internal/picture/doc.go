// Package picture draws scene descriptions ([scenefile.Document]) on the processor: no display, no OpenGL, no browser.
//
// A picture is made in four passes, each by workers that share the rows of the image:
//
//  1. Triangles are projected and written into a depth buffer of 2×2 samples a pixel, with their normals (raster.go).
//  2. The same triangles, seen from the sun, make a shadow map (light.go).
//  3. Each sample is lit: a hemisphere of sky, dimmed by the share of it that near surfaces hide (ambient occlusion),
//     and the sun by Lambert's law where the shadow map sees no other surface (light.go).
//  4. Distances are drawn over it as segments between witnesses, by the sign of the distance, with labels (marks.go).
//
// A film is pictures of the times of a world by one camera, as a GIF with one palette (film.go).
//
// # Layers and threads
//
// Draw and Film keep nothing between calls and change no document: any goroutine may call them. The same input gives
// the same bytes, whatever the number of workers. Errors name the field of the document or of the options.
package picture
