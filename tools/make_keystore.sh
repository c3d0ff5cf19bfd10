#!/usr/bin/env bash
# Makes keys and permissions for DDS Security, laid out as SROS 2 lays them out, with nothing but openssl:
#   make_keystore.sh FOLDER DOMAIN ENCLAVE...
# Each enclave (`gateway`, `driver`) is a folder FOLDER/enclaves/ENCLAVE with a key of its own and leave to use every topic
# of the domain. All messages are encrypted and participants without keys are not met.
set -euo pipefail
folder=$1 domain=$2
shift 2
umask 077
mkdir -p "$folder/private" "$folder/public" "$folder/enclaves"
cd "$folder"

make_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1" 2>/dev/null; }
sign() { openssl smime -sign -text -in "$1" -signer public/ca.cert.pem -inkey private/ca.key.pem -out "$2" -nodetach 2>/dev/null; }

# One authority for identities and permissions, as SROS 2 has it.
if [ ! -f private/ca.key.pem ]; then
  make_key private/ca.key.pem
  openssl req -x509 -new -key private/ca.key.pem -days 3650 -subj "/CN=lastgate" -out public/ca.cert.pem
fi

cat >governance.xml <<XML
<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_governance.xsd">
  <domain_access_rules>
    <domain_rule>
      <domains><id>$domain</id></domains>
      <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
      <enable_join_access_control>true</enable_join_access_control>
      <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
      <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
      <rtps_protection_kind>SIGN</rtps_protection_kind>
      <topic_access_rules>
        <topic_rule>
          <topic_expression>*</topic_expression>
          <enable_discovery_protection>true</enable_discovery_protection>
          <enable_liveliness_protection>true</enable_liveliness_protection>
          <enable_read_access_control>true</enable_read_access_control>
          <enable_write_access_control>true</enable_write_access_control>
          <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
          <data_protection_kind>ENCRYPT</data_protection_kind>
        </topic_rule>
      </topic_access_rules>
    </domain_rule>
  </domain_access_rules>
</dds>
XML
sign governance.xml governance.p7s

for enclave in "$@"; do
  here=enclaves/$enclave
  mkdir -p "$here"
  make_key "$here/key.pem"
  openssl req -new -key "$here/key.pem" -subj "/CN=$enclave" -out "$here/request.pem"
  openssl x509 -req -in "$here/request.pem" -CA public/ca.cert.pem -CAkey private/ca.key.pem -CAcreateserial -days 3650 -out "$here/cert.pem" 2>/dev/null
  cat >"$here/permissions.xml" <<XML
<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_permissions.xsd">
  <permissions>
    <grant name="/$enclave">
      <subject_name>CN=$enclave</subject_name>
      <validity>
        <not_before>$(date -u -d yesterday +%Y-%m-%dT%H:%M:%S)</not_before>
        <not_after>$(date -u -d '3650 days' +%Y-%m-%dT%H:%M:%S)</not_after>
      </validity>
      <allow_rule>
        <domains><id>$domain</id></domains>
        <publish><topics><topic>*</topic></topics></publish>
        <subscribe><topics><topic>*</topic></topics></subscribe>
      </allow_rule>
      <default>DENY</default>
    </grant>
  </permissions>
</dds>
XML
  sign "$here/permissions.xml" "$here/permissions.p7s"
  cp public/ca.cert.pem "$here/identity_ca.cert.pem"
  cp public/ca.cert.pem "$here/permissions_ca.cert.pem"
  cp governance.p7s "$here/governance.p7s"
  rm "$here/request.pem"
done
