import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { type OutlierDetection, OutlierDetectionSchema } from '../gen/envoy/config/cluster/v3/outlier_detection_pb.js';
import { effectiveOutlierDetection, type OutlierDetection as Written } from '../model/index.ts';

/** Ejections grow to this length; Envoy refuses a base above its maximum, and its default is five minutes. */
const longestEjectionMs = 3_600_000;

/** Ejects members for failures in a row and for nothing else: Envoy's statistical detectors are switched off. */
export function outlierDetection(written: Written): OutlierDetection {
  const detection = effectiveOutlierDetection(written);
  return create(OutlierDetectionSchema, {
    consecutive5xx: detection.consecutive5xx,
    enforcingConsecutive5xx: 100,
    interval: durationFromMs(detection.intervalMs),
    baseEjectionTime: durationFromMs(detection.baseEjectionMs),
    maxEjectionTime: durationFromMs(longestEjectionMs),
    maxEjectionPercent: detection.maxEjectionPercent,
    alwaysEjectOneHost: true,
    enforcingSuccessRate: 0,
    enforcingConsecutiveGatewayFailure: 0,
  });
}
