import { keepaliveMs, keepaliveTimeoutMs } from './keepalive.ts';

/** What a client takes: a whole fleet's worth of resources, where gRPC would take 4 MiB. */
const maxReceiveBytes = 64 * 1024 * 1024;

/** Options of grpc-js for clients. */
export const channelOptions = {
  'grpc.max_receive_message_length': maxReceiveBytes,
  'grpc.max_send_message_length': -1,
  'grpc.keepalive_time_ms': keepaliveMs,
  'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
} as const;
