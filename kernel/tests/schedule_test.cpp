// SPDX-License-Identifier: Apache-2.0
// A hundred thousand random schedules of chunks, states, stops, resets, kills and driver ticks, against the three
// sentences that must always hold: nothing moves that was not accepted, nothing passes after a stop, and no client's
// death leaves the motors driven.
#include <array>
#include <random>
#include <vector>

#include "config_text.hpp"
#include "kernel.hpp"
#include "require.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

namespace {

// Sanitizers make each schedule fifteen times slower; what they look for shows in the first ones.
#ifdef __SANITIZE_ADDRESS__
constexpr long schedule_count = 10'000;
#else
constexpr long schedule_count = 100'000;
#endif

/// A driver as the contract wants it: moves on accepted chunks of the kernel it knows, and holds otherwise.
struct Driver {
    double last_safe_s = -1.0;
    std::uint64_t kernel_id = 0;
    std::uint32_t acknowledged = 0;
    bool moving = false;
    static constexpr double patience_s = 0.2;

    void safe_action(std::uint64_t from, double now_s, bool latched) {
        if (from != kernel_id || latched) return;
        last_safe_s = now_s;
        moving = true;
    }
    void tick(double now_s, bool kernel_alive, bool latched, std::uint32_t sequence) {
        if (!kernel_alive || latched || !(now_s - last_safe_s <= patience_s)) moving = false;
        if (latched && !moving) acknowledged = sequence;
    }
};

struct World {
    std::mt19937_64 random;
    double now_s = 1000.0;
    std::unique_ptr<Kernel> kernel;
    std::uint64_t kernel_id = 0;
    LatchRecord disk;
    Driver driver;
    std::vector<double> memory = std::vector<double>(256);
    std::vector<std::byte> state = std::vector<std::byte>(256);
    double observed_s = -1.0;
    double killed_s = 0.0;
    bool pendant_held = false;
    long passed = 0;
    long rejected = 0;
    long resets = 0;
    std::string broken;

    explicit World(std::uint64_t seed) : random(seed) { start(); }

    double uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(random); }
    Now now() const { return {now_s, now_s - 900.0}; }

    void start() {
        KernelSettings settings;
        settings.without_world = true;
        settings.reset_cooldown_s = 0.05;
        settings.required_actuators = {"arm"};
        static const KernelConfig config = read_config(tests::config_text);
        static const auto gate = std::make_shared<Gate>(std::make_shared<RobotModel>(config.model), config.gate);
        kernel = std::make_unique<Kernel>(config, gate, settings, "digest", disk);
        kernel_id += 1;
        observed_s = -1.0;
        if (pendant_held) kernel->latch().assert_source("pendant", "held", now().monotonic_s);
        (void)kernel->activate(std::array{deadman_name});
        driver.kernel_id = kernel_id;
        persist();
    }
    void persist() { disk = kernel->latch().record(); }
    void claim(bool holds, const char* what) {
        if (!holds && broken.empty()) broken = what;
    }

    void submit() {
        const bool was_latched = kernel->latch().latched();
        const bool good = uniform() < 0.7;
        const double row[] = {good ? 0.1 + 0.001 * uniform() : 9.0};
        ActionChunkMessage chunk;
        chunk.horizon = 1;
        chunk.n_dof = 1;
        chunk.flat = row;
        auto* payload = reinterpret_cast<std::byte*>(memory.data()) + payload_offset;
        const auto bytes = write_action_chunk(chunk, {payload, 1024});
        const Finding finding = kernel->evaluate({payload, uniform() < 0.05 ? bytes.size() / 2 : bytes.size()}, nullptr, now());
        // A stop may come while the chunk is being evaluated.
        if (uniform() < 0.05) kernel->estop("human", "in between", now());
        const bool latched_before_deciding = kernel->latch().latched();
        const Decision decision = kernel->decide(finding, nullptr, now());
        persist();
        claim(!decision.pass || finding.verdict.accepted == 1, "passed what was not accepted");
        claim(!decision.pass || good, "passed what is outside its limits");
        claim(!decision.pass || !latched_before_deciding, "passed after a stop");
        claim(!decision.pass || now_s - observed_s <= 0.2, "passed without a fresh state");
        claim(decision.pass || was_latched || kernel->latch().latched(), "rejected without a latch under on_violation: estop");
        if (decision.pass) driver.safe_action(kernel_id, now_s, kernel->latch().latched());
        (decision.pass ? passed : rejected) += 1;
    }

    void step() {
        now_s += uniform() < 0.1 ? 0.3 * uniform() : 0.02 * uniform();
        const double event = uniform();
        const bool alive = kernel != nullptr;
        if (event < 0.35 && alive) submit();
        else if (event < 0.65 && alive) {
            const std::string_view names[] = {"shoulder"};
            const double position[] = {0.1};
            const double whole = std::floor(now_s);
            (void)kernel->observe(write_joint_state({static_cast<std::int32_t>(whole), static_cast<std::uint32_t>((now_s - whole) * 1e9)}, names, position, {}, state), now());
            observed_s = now_s;
        } else if (event < 0.68 && alive) {
            kernel->estop("human", "pressed", now());
            persist();
        } else if (event < 0.70 && alive) {
            pendant_held = true;
            kernel->latch().assert_source("pendant", "held", now().monotonic_s);
            persist();
        } else if (event < 0.74) {
            pendant_held = false;
            if (alive) kernel->latch().release_source("pendant");
        } else if (event < 0.84 && alive) {
            (void)kernel->latch().acknowledge("arm", driver.acknowledged);
            const bool latched = kernel->latch().latched();
            const bool cleared = kernel->latch().reset(now().monotonic_s).success;
            persist();
            claim(!(cleared && latched) || !pendant_held, "reset while the pendant was held");
            claim(!(cleared && latched) || !driver.moving, "reset before the driver had stopped");
            resets += cleared && latched ? 1 : 0;
        } else if (event < 0.86 && alive) {
            kernel.reset();  // kill -9
            killed_s = now_s;
        } else if (event < 0.90 && !alive) {
            const bool was_latched = disk.latched;
            start();
            claim(!was_latched || kernel->latch().latched(), "forgot a stop over a restart");
        }
        const bool latched = kernel != nullptr && kernel->latch().latched();
        driver.tick(now_s, kernel != nullptr, latched, latched ? kernel->latch().record().sequence : 0);
        claim(!driver.moving || kernel != nullptr, "motors driven after the kernel died");
        claim(!driver.moving || !latched, "motors driven while latched");
        claim(!driver.moving || now_s - driver.last_safe_s <= Driver::patience_s, "motors driven without a new chunk");
    }
};

}  // namespace

TEST(no_schedule_breaks_an_invariant) {
    long passed = 0;
    long rejected = 0;
    long resets = 0;
    for (long seed = 0; seed < schedule_count; ++seed) {
        World world(static_cast<std::uint64_t>(seed));
        for (int step = 0; step < 60 && world.broken.empty(); ++step) world.step();
        if (!REQUIRE(world.broken.empty(), seed, world.broken)) return;
        passed += world.passed;
        rejected += world.rejected;
        resets += world.resets;
    }
    std::cout << schedule_count << " schedules: " << passed << " chunks passed, " << rejected << " rejected, " << resets << " resets\n";
    REQUIRE(passed > schedule_count && rejected > schedule_count && resets > schedule_count / 10, passed, rejected, resets);
}

TEST_MAIN
