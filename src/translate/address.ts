import { create } from '@bufbuild/protobuf';
import { type Address, AddressSchema } from '../gen/envoy/config/core/v3/address_pb.js';

export function socketAddress(address: string, port: number, options: { ipv4Compat?: true } = {}): Address {
  return create(AddressSchema, {
    address: {
      case: 'socketAddress',
      value: { address, portSpecifier: { case: 'portValue', value: port }, ...options },
    },
  });
}

const ipv4 = /^\d{1,3}(\.\d{1,3}){3}$/;

/** Whether a checked address is one, and not a name to be resolved. */
export function isIp(address: string): boolean {
  return address.includes(':') || ipv4.test(address);
}
