// The words of the pipeline file for the values of enumerations, in the enumerations' order.
#pragma once

#include <array>
#include <string_view>

namespace stagecall {

inline constexpr std::array<std::string_view, 3> kTriggerNames{"all_succeeded", "all_finished",
                                                               "any_failed"};
inline constexpr std::array<std::string_view, 2> kOnFailureNames{"continue", "stop"};
inline constexpr std::array<std::string_view, 2> kExecutorNames{"process", "slurm"};

}  // namespace stagecall
