// Everything a program of the Remora tensor library needs: `#include <remora/remora.h>`.
#pragma once

#include "client/autodiff/autodiff.h"
#include "client/data/csv.h"
#include "client/data/data_loader.h"
#include "client/io/tensor_files.h"
#include "client/nn/layers.h"
#include "client/nn/module.h"
#include "client/ops.h"
#include "client/optim/optimizer.h"
#include "client/optim/sgd.h"
#include "client/tensor.h"
#include "client/tensor_map.h"
#include "dispatch/backend.h"
#include "dispatch/device.h"
#include "dispatch/error.h"
#if REMORA_REMOTE
#include "client/remote/connection.h"
#endif
