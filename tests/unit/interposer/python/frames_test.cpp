// SPDX-License-Identifier: Apache-2.0
// The walk over a thread's Python frames, and its first, distrustful look at them.
#include "interposer/python/frames.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/interposer/python/made_up_python.h"

namespace gmt::interposer::python {
namespace {

using Visited = std::vector<std::pair<const char*, const char*>>; // code, instruction or frame

class PythonFrames : public testing::TestWithParam<const Layout*> {
protected:
  PythonFrames() : made_up_(*GetParam()) {
    made_up_thread = nullptr;
    is_finalizing = 0;
    newest = kInterpreters;
    current_interpreter.store(&made_up_.python);
  }
  ~PythonFrames() override { current_interpreter.store(nullptr); }

  char* code() { return made_up_.code(made_up_.ascii("file"), made_up_.ascii("name"), 1, "", 4); }
  Visited visited(const char* frame, std::size_t most = 100) {
    Visited found;
    walk(made_up_.python, frame, [&](const char* code, const char* at) {
      found.emplace_back(code, at);
      return found.size() < most;
    });
    return found;
  }
  MadeUpPython made_up_;
};

TEST_P(PythonFrames, GoesFromTheInnermostFrameOutwards) {
  const char *inner = code(), *outer = code();
  const char* frame = made_up_.frame(inner, 2, made_up_.frame(outer, 1, nullptr));
  const Visited expected = {{inner, made_up_.instruction(inner, 2)},
                            {outer, made_up_.instruction(outer, 1)}};
  EXPECT_EQ(visited(frame), expected);
  EXPECT_EQ(visited(frame, 1).size(), 1u) << "the visitor has enough";
  EXPECT_TRUE(visited(nullptr).empty());
}

TEST_P(PythonFrames, AnEntryFromCStandsBehindItsRun) {
  const char *inner = code(), *outer = code();
  char* frame = nullptr;
  const char *last = made_up_.frame(outer, 0, nullptr), *entry = nullptr;
  if (made_up_.python.layout.is_entry == kAbsent) {
    entry = made_up_.frame(nullptr, 0, last, kOwnedByC);
    frame = made_up_.frame(inner, 0, entry);
  } else {
    frame = made_up_.frame(inner, 0, last);
    made_up_.put(frame, made_up_.python.layout.is_entry, std::uint8_t{1});
    entry = frame;
  }
  const Visited expected = {{inner, made_up_.instruction(inner, 0)},
                            {nullptr, entry},
                            {outer, made_up_.instruction(outer, 0)}};
  EXPECT_EQ(visited(frame), expected);
}

TEST_P(PythonFrames, EndAtWhatIsNoCode) {
  const char* inner = code();
  const char* frame = made_up_.frame(inner, 0, made_up_.frame(made_up_.ascii("x"), 0, nullptr));
  EXPECT_EQ(visited(frame).size(), 1u);
}

TEST_P(PythonFrames, TheInnermostOneIsTheThreadsOwn) {
  const Layout& l = made_up_.python.layout;
  EXPECT_EQ(innermost_frame(made_up_.python), nullptr) << "a thread without Python";
  const char* frame = made_up_.frame(code(), 0, nullptr);
  char *thread = made_up_.object(128), *held = made_up_.object(32);
  const bool in_between = l.cframe_frame != kAbsent;
  if (in_between) made_up_.put(held, l.cframe_frame, frame);
  made_up_.put(thread, l.thread_frame, in_between ? held : frame);
  made_up_thread = thread;
  EXPECT_EQ(innermost_frame(made_up_.python), frame);
  is_finalizing = 1;
  EXPECT_EQ(innermost_frame(made_up_.python), nullptr) << "it is being taken down";
}

TEST_P(PythonFrames, SeveralInterpretersAreNoticed) {
  EXPECT_FALSE(has_several(made_up_.python));
  newest = kInterpreters + 1;
  EXPECT_TRUE(has_several(made_up_.python));
}

TEST_P(PythonFrames, SoundOnesAreTrustedFromThenOn) {
  const char* frame = made_up_.frame(code(), 3, made_up_.frame(code(), 0, nullptr));
  EXPECT_TRUE(verify(made_up_.python, frame));
  EXPECT_TRUE(is_verified());
  EXPECT_EQ(interpreter(), &made_up_.python);
}

TEST_P(PythonFrames, AnInterpreterWhoseFramesDifferIsGivenUp) {
  const Layout& l = made_up_.python.layout;
  char *far = made_up_.frame(code(), 4, nullptr), *text = made_up_.frame(code(), 0, nullptr),
       *owner = made_up_.frame(code(), 0, nullptr, kLastOwner + 1);
  made_up_.put(text, l.code, made_up_.ascii("no code"));
  char* wild = made_up_.frame(code(), 0, nullptr);
  made_up_.put(wild, l.code, std::uint64_t{0x10});
  const char* behind = made_up_.frame(code(), 0, reinterpret_cast<const char*>(0x1000));
  const char* odd = made_up_.frame(code(), 0, made_up_.frame(code(), 0, nullptr) + 4);
  for (const char* frame :
       {static_cast<const char*>(far), static_cast<const char*>(text),
        static_cast<const char*>(owner), static_cast<const char*>(wild), behind, odd}) {
    current_interpreter.store(&made_up_.python);
    EXPECT_FALSE(verify(made_up_.python, frame));
    EXPECT_EQ(interpreter(), nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, PythonFrames, testing::Values(&kLayout311, &kLayout313),
                         [](const testing::TestParamInfo<const Layout*>& tested) {
                           return tested.param == &kLayout311 ? "Of311" : "Of313";
                         });

} // namespace
} // namespace gmt::interposer::python
