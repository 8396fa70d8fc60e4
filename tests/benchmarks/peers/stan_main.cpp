// NUTS of Stan with a diagonal metric and the settings that CmdStan has, for a compiled model:
//     model DATA.json FOLDER CHAINS WARMUP DRAWS SEED THREADS
// Chains share the threads. Each writes its draws to FOLDER/draws_1.csv and so on as they come.
#include <stan/callbacks/interrupt.hpp>
#include <stan/callbacks/stream_logger.hpp>
#include <stan/callbacks/unique_stream_writer.hpp>
#include <stan/callbacks/writer.hpp>
#include <stan/io/empty_var_context.hpp>
#include <stan/io/json/json_data.hpp>
#include <stan/math/prim/core/init_threadpool_tbb.hpp>
#include <stan/model/model_base.hpp>
#include <stan/services/sample/hmc_nuts_diag_e_adapt.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

stan::model::model_base& new_model(stan::io::var_context& data, unsigned int seed,
                                   std::ostream* messages);

int main(int count, const char* arguments[]) {
  auto number = [&](int place) { return std::stoi(arguments[place]); };
  const int chains = number(3), warmup = number(4), draws = number(5), seed = number(6);
  stan::math::init_threadpool_tbb(number(7));
  std::ifstream file(arguments[1]);
  stan::json::json_data data(file);
  stan::model::model_base& model = new_model(data, seed, &std::cout);

  using Stream = stan::callbacks::unique_stream_writer<std::ofstream>;
  std::vector<std::shared_ptr<stan::io::empty_var_context>> starts;
  std::vector<Stream> samples;
  std::vector<stan::callbacks::writer> nowhere(chains), diagnosed(chains);
  for (int chain = 0; chain < chains; chain++) {
    starts.push_back(std::make_shared<stan::io::empty_var_context>());
    std::string path = std::string(arguments[2]) + "/draws_" + std::to_string(chain + 1) + ".csv";
    auto out = std::make_unique<std::ofstream>(path);
    out->precision(8);
    samples.emplace_back(std::move(out), "# ");
  }
  stan::callbacks::interrupt interrupt;
  stan::callbacks::stream_logger logger(std::cout, std::cout, std::cout, std::cerr, std::cerr);
  return stan::services::sample::hmc_nuts_diag_e_adapt(
      model, chains, starts, seed, 1, 2.0, warmup, draws, 1, false, 100, 1.0, 0.0, 10, 0.8, 0.05,
      0.75, 10.0, 75, 50, 25, interrupt, logger, nowhere, samples, diagnosed);
}
