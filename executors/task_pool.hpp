#pragma once
#include "stagecall/executor.hpp"
#include "stagecall/task.hpp"
namespace stagecall {
class TaskPool : public Executor {
 public:
  virtual Result<void> add(std::string name, Task task) = 0;
};
std::unique_ptr<TaskPool> make_task_pool(const Clock& clock, unsigned threads_max);
}  // namespace stagecall
