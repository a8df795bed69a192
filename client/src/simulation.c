#include "simulation.h"

#include "client.h"

void dpot_client_allow_simulation(dpot_client *client)
{
    client->campaigns.allow_simulation = true;
    client->campaigns.epsilon_ceiling_q32 = DPOT_SIMULATION_EPSILON_MAX_Q32;
    struct dpot_caps caps;
    if (dpot_caps_init(&caps, &client->config, NULL) == DPOT_OK) { /* opening accepted them */
        dpot_caps_limit(&caps, DPOT_SIMULATION_EPSILON_MAX_Q32);
        client->caps = caps;
    }
}

void dpot_client_set_work_time(dpot_client *client, uint32_t work_ms)
{
    client->fixed_work_ms = work_ms;
}

void dpot_client_fold_after(dpot_client *client, uint32_t n_records)
{
    client->journal.ledger.tail_max = n_records;
}

void dpot_client_set_rng_source(dpot_client *client, const struct dpot_rng_source *source)
{
    client->rng_source = source;
}
