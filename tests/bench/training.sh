#!/bin/sh
# A step of training a generator against PyTorch and GeomLoss, with the same networks, batches,
# sweeps and optimiser (RMSprop), one thread each:
#
#   sh tests/bench/training.sh [BUILD]
#
# BUILD, ROUNDS and PYTHON as in transport.sh, with the target bench_training. What is not installed
# is printed as "peer absent"; nothing is downloaded.
#
# half       half circle: batch 1000, 400 sweeps, network 2-256-256-2
# dcgan256   images: batch 400, 400 sweeps, 784 coordinates, 100 -> 7x7x256 -> 14x14x128 -> 28x28,
#            batch norm and ReLU between, tanh
# dcgan128   the same with half the channels: our default
#
# "step" is ours: latent points, network, costs, sweeps, gradients, optimiser. Peers do the same
# with a plain kernel that is not safe (torch_plain: underflow gives NaN, at the same cost), in the
# log domain (torch_log), or with GeomLoss (scaling .99, its own iterations). "network" and
# "torch_network" are forward and backward pass alone (torch's with the optimiser). First the losses
# at the third step from equal parameters and latent points, which must agree.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/turns.sh

build_side bench_training "${1:-}"
machine
open_sides tests/bench/peers_training.py
all=$rounds
for case in half dcgan256 dcgan128; do
    rounds=1
    duel "$case: loss at the third step" $case ours:loss theirs:torch_loss
    rounds=$all
    duel "$case: one step" $case ours:step theirs:torch_plain theirs:torch_log theirs:geomloss \
        ours:network theirs:torch_network
    target torch_plain step least 1.4
    case $case in
    half) target geomloss step least 10 ;;
    *) target torch_log step least 1.4 ;;
    esac
    target torch_network network least 1
done
