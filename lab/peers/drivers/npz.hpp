// A reader of the NPZ files that batchbench writes: zip archives of stored (not
// compressed) NPY arrays, little endian, C order, with Zip64 sizes.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace peers {

// Array is one member: its type as NumPy writes it ("<f8", "<i4") and its bytes.
struct Array {
  std::string type;
  std::vector<char> bytes;

  template <typename T>
  std::vector<T> as(const char* want) const {
    if (type != want) throw std::runtime_error("array of type " + type + ", want " + want);
    std::vector<T> v(bytes.size() / sizeof(T));
    std::memcpy(v.data(), bytes.data(), v.size() * sizeof(T));
    return v;
  }
};

inline std::map<std::string, Array> readNPZ(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path);
  const std::vector<char> file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto need = [&](uint64_t at, uint64_t n) {
    if (n > file.size() || at > file.size() - n) throw std::runtime_error(path + " is truncated");
  };
  auto number = [&](uint64_t at, int bytes) {
    need(at, bytes);
    uint64_t v = 0;
    std::memcpy(&v, &file[at], bytes);
    return v;
  };

  // Local headers, APPNOTE.TXT 4.3.7; the Zip64 field is 4.5.3.
  std::map<std::string, Array> arrays;
  for (uint64_t at = 0; number(at, 4) == 0x04034b50;) {
    if (number(at + 8, 2) != 0) throw std::runtime_error(path + ": compressed member");
    uint64_t size = number(at + 22, 4);
    const uint64_t nameLength = number(at + 26, 2), extraLength = number(at + 28, 2);
    need(at + 30, nameLength + extraLength);
    std::string name(&file[at + 30], nameLength);
    for (uint64_t x = at + 30 + nameLength, end = x + extraLength; x + 4 <= end; x += 4 + number(x + 2, 2)) {
      if (number(x, 2) == 1 && size == 0xffffffff) size = number(x + 4, 8);
    }
    const uint64_t data = at + 30 + nameLength + extraLength;
    need(data, size);
    at = data + size;

    // The header of NPY: magic, version, length, a dictionary as text.
    if (size < 12 || std::memcmp(&file[data], "\x93NUMPY", 6) != 0)
      throw std::runtime_error(path + ": " + name + " is no NPY array");
    const bool wide = file[data + 6] > 1;
    const uint64_t body = data + (wide ? 12 + number(data + 8, 4) : 10 + number(data + 8, 2));
    if (body > at) throw std::runtime_error(path + ": " + name + " is truncated");
    const std::string header(&file[data], body - data);
    const size_t key = header.find("'descr'");
    const size_t open = header.find('\'', key + 7), close = header.find('\'', open + 1);
    if (key == std::string::npos || close == std::string::npos ||
        header.find("'fortran_order': False") == std::string::npos)
      throw std::runtime_error(path + ": " + name + " is not in C order");
    Array a;
    a.type = header.substr(open + 1, close - open - 1);
    a.bytes.assign(file.begin() + body, file.begin() + at);
    if (name.size() > 4) name.resize(name.size() - 4);  // .npy
    arrays[name] = std::move(a);
  }
  return arrays;
}

}  // namespace peers
