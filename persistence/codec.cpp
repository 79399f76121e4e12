#include "persistence/codec.hpp"

#include <xxhash.h>

#include <array>
#include <concepts>
#include <cstdio>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stagecall {
namespace {

constexpr std::uint8_t kFormat = 1;

// ---- The format: fields in this order, tags as below. Neither ever changes within a format. ----
//
//   number      varint (7 bits a byte, low ones first, no more bytes than needed); signed: zigzag;
//               Nonce: 8 bytes, low first
//   bool, enum  one byte, checked against its range
//   string      length, bytes
//   optional    one byte 0 or 1, then the value
//   variant     tag, fields of the alternative

template <class T>
constexpr auto kFields = std::tuple{};  // of a type without members
template <>
constexpr auto kFields<ProcessIdentity> =
    std::tuple{&ProcessIdentity::host, &ProcessIdentity::boot_id, &ProcessIdentity::pid,
               &ProcessIdentity::start_time};
template <>
constexpr auto kFields<ReplicaIdentity> =
    std::tuple{&ReplicaIdentity::replica, &ReplicaIdentity::incarnation, &ReplicaIdentity::process};
template <>
constexpr auto kFields<Outcome> =
    std::tuple{&Outcome::kind, &Outcome::exit_code, &Outcome::signal, &Outcome::error};
template <>
constexpr auto kFields<TermOpened> = std::tuple{&TermOpened::holder};
template <>
constexpr auto kFields<AttemptSubmitted> =
    std::tuple{&AttemptSubmitted::node, &AttemptSubmitted::attempt, &AttemptSubmitted::nonce};
template <>
constexpr auto kFields<AttemptRunning> =
    std::tuple{&AttemptRunning::node, &AttemptRunning::attempt};
template <>
constexpr auto kFields<AttemptAbsent> = std::tuple{&AttemptAbsent::node, &AttemptAbsent::attempt};
template <>
constexpr auto kFields<AttemptUnreachable> =
    std::tuple{&AttemptUnreachable::node, &AttemptUnreachable::attempt};
template <>
constexpr auto kFields<AttemptFound> = std::tuple{&AttemptFound::node, &AttemptFound::attempt};
template <>
constexpr auto kFields<AttemptTimedOut> =
    std::tuple{&AttemptTimedOut::node, &AttemptTimedOut::attempt};
template <>
constexpr auto kFields<AttemptEnded> =
    std::tuple{&AttemptEnded::node, &AttemptEnded::attempt,  &AttemptEnded::outcome,
               &AttemptEnded::next, &AttemptEnded::retry_at, &AttemptEnded::confirmed};
template <>
constexpr auto kFields<BackoffEnded> = std::tuple{&BackoffEnded::node};
template <>
constexpr auto kFields<NodeForced> =
    std::tuple{&NodeForced::node, &NodeForced::outcome, &NodeForced::reason};
template <>
constexpr auto kFields<StopRequested> = std::tuple{&StopRequested::reason};
template <>
constexpr auto kFields<RunEnded> = std::tuple{&RunEnded::result};
template <>
constexpr auto kFields<NodeCarried> =
    std::tuple{&NodeCarried::node, &NodeCarried::attempt, &NodeCarried::has_succeeded};
template <>
constexpr auto kFields<StopInput> = std::tuple{&StopInput::reason};
template <>
constexpr auto kFields<NodeDoneInput> =
    std::tuple{&NodeDoneInput::node, &NodeDoneInput::attempt, &NodeDoneInput::outcome,
               &NodeDoneInput::output, &NodeDoneInput::force_reason};
template <>
constexpr auto kFields<ReportInput> =
    std::tuple{&ReportInput::node, &ReportInput::attempt, &ReportInput::nonce, &ReportInput::news};
template <>
constexpr auto kFields<SaysEnded> = std::tuple{&SaysEnded::outcome, &SaysEnded::output};
template <>
constexpr auto kFields<SaysAbsent> = std::tuple{&SaysAbsent::proven};

template <class T>
constexpr std::uint8_t kTag = 0;
template <>
constexpr std::uint8_t kTag<RunStarted> = 1;
template <>
constexpr std::uint8_t kTag<TermOpened> = 2;
template <>
constexpr std::uint8_t kTag<AttemptSubmitted> = 3;
template <>
constexpr std::uint8_t kTag<AttemptRunning> = 4;
template <>
constexpr std::uint8_t kTag<AttemptAbsent> = 5;
template <>
constexpr std::uint8_t kTag<AttemptUnreachable> = 6;
template <>
constexpr std::uint8_t kTag<AttemptFound> = 7;
template <>
constexpr std::uint8_t kTag<AttemptTimedOut> = 8;
template <>
constexpr std::uint8_t kTag<AttemptEnded> = 9;
template <>
constexpr std::uint8_t kTag<BackoffEnded> = 10;
template <>
constexpr std::uint8_t kTag<NodeForced> = 11;
template <>
constexpr std::uint8_t kTag<StopRequested> = 12;
template <>
constexpr std::uint8_t kTag<RunTimedOut> = 13;
template <>
constexpr std::uint8_t kTag<RunEnded> = 14;
template <>
constexpr std::uint8_t kTag<NodeCarried> = 15;
template <>
constexpr std::uint8_t kTag<StopInput> = 1;
template <>
constexpr std::uint8_t kTag<NodeDoneInput> = 2;
template <>
constexpr std::uint8_t kTag<ReportInput> = 3;
template <>
constexpr std::uint8_t kTag<SaysRunning> = 1;
template <>
constexpr std::uint8_t kTag<SaysEnded> = 2;
template <>
constexpr std::uint8_t kTag<SaysAlive> = 3;
template <>
constexpr std::uint8_t kTag<SaysAbsent> = 4;
template <>
constexpr std::uint8_t kTag<SaysUnknown> = 5;
template <>
constexpr std::uint8_t kTag<SaysProgress> = 6;  // alone: how far it was is not kept

template <class T>
constexpr T kLast = T{};
template <>
constexpr RunState kLast<RunState> = RunState::stopped;
template <>
constexpr OutcomeKind kLast<OutcomeKind> = OutcomeKind::interrupted;
template <>
constexpr Next kLast<Next> = Next::again;

template <class T>
concept Enumeration = std::is_enum_v<T>;

// ---- Encoding ----

class Encoder {
 public:
  std::string take() { return std::move(bytes_); }

  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    byte(static_cast<std::uint8_t>(value));
  }

  void put(bool value) { byte(value ? 1 : 0); }
  void put(std::unsigned_integral auto value) { varint(value); }
  void put(std::signed_integral auto value) {
    const auto wide = static_cast<std::int64_t>(value);
    varint((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
  }
  void put(Enumeration auto value) { byte(static_cast<std::uint8_t>(value)); }
  void put(const std::string& value) {
    varint(value.size());
    bytes_ += value;
  }
  void put(WallTime value) { put(std::int64_t{value.time_since_epoch().count()}); }
  void put(Nonce value) {
    for (int shift = 0; shift < 64; shift += 8) {
      byte(static_cast<std::uint8_t>(value.value >> shift));
    }
  }
  template <class Tag, class Rep>
  void put(Number<Tag, Rep> value) {
    put(value.value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) {
      put(*value);
    }
  }
  template <class... Ts>
  void put(const std::variant<Ts...>& value) {
    std::visit(
        [this](const auto& alternative) {
          using T = std::remove_cvref_t<decltype(alternative)>;
          static_assert(kTag<T> != 0);
          byte(kTag<T>);
          put(alternative);
        },
        value);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& value) {
    std::apply([&](auto... members) { (put(value.*members), ...); }, kFields<T>);
  }

 private:
  std::string bytes_;
};

// ---- Decoding ----

/// Once something is wrong, everything read is empty and error() says where it began.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  bool is_good() const { return wrong_.empty(); }
  std::size_t left() const { return is_good() ? bytes_.size() - position_ : 0; }
  Error error() const {
    return {ErrorCode::store_damaged, "byte " + std::to_string(position_) + " of " +
                                          std::to_string(bytes_.size()) + ": " +
                                          std::string{wrong_}};
  }
  void refuse(std::string_view why) {
    if (is_good()) {
      wrong_ = why;
    }
  }

  std::uint8_t byte() {
    if (left() == 0) {
      refuse("ends too early");
      return 0;
    }
    return static_cast<std::uint8_t>(bytes_[position_++]);
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t part = byte();
      if (shift == 63 && part > 1) {
        break;
      }
      if (shift > 0 && part == 0) {
        refuse("a number is longer than it needs to be");
        return 0;
      }
      value |= (part & 0x7f) << shift;
      if (part < 0x80) {
        return value;
      }
    }
    refuse("a number is too large");
    return 0;
  }

  void get(bool& value) {
    const std::uint8_t read = byte();
    if (read > 1) {
      refuse("neither 0 nor 1");
    }
    value = read == 1;
  }
  template <std::unsigned_integral T>
  void get(T& value) {
    const std::uint64_t read = varint();
    if (read > std::numeric_limits<T>::max()) {
      refuse("a number is out of its range");
    }
    value = static_cast<T>(read);
  }
  template <std::signed_integral T>
  void get(T& value) {
    const std::uint64_t read = varint();
    const auto wide = static_cast<std::int64_t>(read >> 1) ^ -static_cast<std::int64_t>(read & 1);
    if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) {
      refuse("a number is out of its range");
    }
    value = static_cast<T>(wide);
  }
  template <Enumeration T>
  void get(T& value) {
    const std::uint8_t read = byte();
    if (read > static_cast<std::uint8_t>(kLast<T>)) {
      refuse("not a value of its kind");
      return;
    }
    value = static_cast<T>(read);
  }
  void get(std::string& value) {
    const std::uint64_t size = varint();
    if (size > left()) {
      refuse("a text ends too early");
      return;
    }
    value = bytes_.substr(position_, size);
    position_ += size;
  }
  void get(WallTime& value) {
    std::int64_t milliseconds = 0;
    get(milliseconds);
    value = WallTime{Duration{milliseconds}};
  }
  void get(Nonce& value) {
    value.value = 0;
    for (int shift = 0; shift < 64; shift += 8) {
      value.value |= std::uint64_t{byte()} << shift;
    }
  }
  template <class Tag, class Rep>
  void get(Number<Tag, Rep>& value) {
    get(value.value);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool has = false;
    get(has);
    if (has) {
      get(value.emplace());
    }
  }
  template <class... Ts>
  void get(std::variant<Ts...>& value) {
    const std::uint8_t tag = byte();
    if (!(get_if_tagged<Ts>(tag, value) || ...)) {
      refuse("unknown kind of event or message");
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void get(T& value) {
    std::apply([&](auto... members) { (get(value.*members), ...); }, kFields<T>);
  }

 private:
  template <class T, class Variant>
  bool get_if_tagged(std::uint8_t tag, Variant& value) {
    if (tag != kTag<T>) {
      return false;
    }
    get(value.template emplace<T>());
    return true;
  }

  std::string_view bytes_;
  std::size_t position_ = 0;
  std::string_view wrong_;
};

void check_format(Decoder& decoder) {
  if (decoder.byte() != kFormat) {
    decoder.refuse("unknown format version");
  }
}

template <class T>
Result<T> finish(Decoder& decoder, T value) {
  if (decoder.left() != 0) {
    decoder.refuse("followed by bytes that belong to nothing");
  }
  if (!decoder.is_good()) {
    return tl::unexpected<Error>{decoder.error()};
  }
  return value;
}

}  // namespace

std::string encode_events(const std::vector<Event>& events) {
  Encoder encoder;
  encoder.byte(kFormat);
  encoder.varint(events.size());
  for (const Event& event : events) {
    encoder.put(event);
  }
  return encoder.take();
}

Result<std::vector<Event>> decode_events(std::string_view bytes) {
  Decoder decoder{bytes};
  check_format(decoder);
  const std::uint64_t count = decoder.varint();
  // Each event takes a byte at least, so a damaged count cannot ask for more memory than that.
  if (count > decoder.left()) {
    decoder.refuse("fewer events than announced");
  }
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < count && decoder.is_good(); ++i) {
    decoder.get(events.emplace_back());
  }
  return finish(decoder, std::move(events));
}

std::uint64_t count_events(std::string_view encoded) {
  Decoder decoder{encoded};
  check_format(decoder);
  const std::uint64_t count = decoder.varint();
  return decoder.is_good() ? count : 0;
}

std::string encode_message(const InboxMessage& message) {
  Encoder encoder;
  encoder.byte(kFormat);
  encoder.put(message);
  return encoder.take();
}

Result<InboxMessage> decode_message(std::string_view bytes) {
  Decoder decoder{bytes};
  check_format(decoder);
  InboxMessage message;
  decoder.get(message);
  return finish(decoder, std::move(message));
}

std::uint64_t checksum_of(std::uint64_t previous, const Pass& pass, std::string_view encoded) {
  const std::array numbers{previous, pass.seq.value, pass.term.value,
                           static_cast<std::uint64_t>(pass.at.time_since_epoch().count())};
  std::array<unsigned char, sizeof numbers> head{};
  for (std::size_t i = 0; i < head.size(); ++i) {
    head[i] = static_cast<unsigned char>(numbers[i / 8] >> (8 * (i % 8)));
  }
  const std::uint64_t seed = XXH3_64bits(head.data(), head.size());
  return XXH3_64bits_withSeed(encoded.data(), encoded.size(), seed);
}

std::string content_hash(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

}  // namespace stagecall
