#include "simulation.h"

#include "client.h"

void dpot_client_allow_simulation(dpot_client *client)
{
    client->campaigns.allow_simulation = true;
}

void dpot_client_set_rng_source(dpot_client *client, const struct dpot_rng_source *source)
{
    client->rng_source = source;
}
