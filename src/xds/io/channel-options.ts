/** Options of grpc-js that both ends share. */

/** After an outage a client lists all that it holds: 60,000 clusters are above gRPC's usual 4 MiB. */
const maxReceiveBytes = 64 * 1024 * 1024;

/** A connection whose peer vanished without a word is noticed within 15 s. */
const keepaliveMs = 10_000;
const keepaliveTimeoutMs = 5_000;

export const channelOptions = {
  'grpc.max_receive_message_length': maxReceiveBytes,
  'grpc.max_send_message_length': -1,
  'grpc.keepalive_time_ms': keepaliveMs,
  'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
} as const;
