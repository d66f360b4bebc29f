"""The lab's own network: a loopback proxy through which links can be cut and slowed.

link    a port of the proxy that stands for a port of a node; `peers` links carry replication,
        controller and Erlang traffic, `clients` links carry what clients say
rule    a cut or a delay on all links from and to one node

No root and no firewall: nodes advertise the proxy's ports to each other, so a rule only
has to act on connections that pass through here.
"""
